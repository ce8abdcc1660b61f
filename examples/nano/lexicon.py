"""What documents say: concepts (a field's role) with their labels in six languages, and the words around them.

`|` separates alternatives. A concept's names and descriptions are what a schema may call it; its labels are what a
document prints beside the value.
"""

from dataclasses import dataclass

from dg_sglang.pipelines.prompt import Kind

LANGUAGES = ("en", "de", "fr", "es", "it", "nl")


def _listed(text: str, mark: str | None = "|") -> tuple[str, ...]:
    return tuple(text.split(mark))


@dataclass(frozen=True)
class Concept:
    """One role a value can have in a document."""

    kind: Kind
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]


def _concept(kind: Kind, names: str, descriptions: str, *labels: str) -> Concept:
    by_language = {language: tuple(text.split("|")) for language, text in zip(LANGUAGES, labels, strict=True)}
    return Concept(kind, tuple(names.split("|")), tuple(descriptions.split("|")), by_language)


CONCEPTS: dict[str, Concept] = {
    "invoice_number": _concept(
        "text",
        "invoice_number|invoice_number|invoice_no|invoice_id|number|document_number|bill_number|inv_no",
        "number of the invoice|the invoice's number or id|invoice number as printed",
        (
            "Invoice No.|Invoice No|Invoice Number|Invoice #|Inv. No.|Invoice|Invoice ID|INVOICE NO|Bill "
            "No.|Document No.|No."
        ),
        "Rechnungs-Nr.|Rechnungsnummer|Rechnung Nr.|Rechnung|RECHNUNG NR.|Beleg-Nr.|Re.-Nr.|Rg.-Nr.|Belegnummer",
        "Facture N°|N° de facture|Facture no|Numéro de facture|Facture|FACTURE N°",
        "Factura N°|Número de factura|Nº factura|Factura|Nº de factura",
        "Fattura n.|Numero fattura|N. fattura|Fattura|Fattura nr.",
        "Factuurnummer|Factuurnr.|Factuur|Factuur nr.",
    ),
    "receipt_number": _concept(
        "text",
        "receipt_number|receipt_no|transaction_id|receipt_id|ticket_number|slip_no",
        "number of the receipt|transaction or receipt number",
        "Receipt No.|Receipt #|Trans #|Transaction ID|Ticket #|Check #|Bill No|Slip No|Doc No|RCPT",
        "Bon-Nr.|Beleg-Nr.|Kassenbon Nr.|Quittung Nr.|Beleg",
        "Ticket N°|Reçu N°|N° ticket",
        "Ticket|Recibo N°|Nº ticket",
        "Scontrino n.|Ricevuta n.|Doc. n.",
        "Bonnr.|Bonnummer|Bon",
    ),
    "order_number": _concept(
        "text",
        "order_number|po_number|purchase_order|order_no|order_id|po",
        "the buyer's order number|purchase order number",
        "PO Number|P.O. #|PO No.|Purchase Order|Your Order|Order No.|Order Number|Order #|Your PO",
        "Bestellnummer|Bestell-Nr.|Auftrags-Nr.|Ihre Bestellung|Auftragsnummer|Bestellung|Auftrag Nr.",
        "N° de commande|Commande|Bon de commande|Commande n°",
        "Pedido|Nº de pedido|Pedido N°",
        "Ordine n.|N. ordine|Ordine|Vs. ordine",
        "Ordernummer|Bestelnummer|Bestelling|Uw order",
    ),
    "customer_number": _concept(
        "text",
        "customer_number|customer_id|account_number|customer_no|client_id|account",
        "the customer's number|account number of the customer",
        "Customer No.|Customer ID|Account No.|Account Number|Client ID|Customer #|Cust. No.",
        "Kundennummer|Kunden-Nr.|Kd.-Nr.|Kundennr.|Debitor",
        "N° client|Code client|Numéro client",
        "Nº cliente|Código cliente|Cliente N°",
        "Codice cliente|Cod. cliente|N. cliente",
        "Klantnummer|Debiteurnr.|Klantnr.",
    ),
    "reference": _concept(
        "text",
        "reference|ref|our_reference|reference_number|case_number|file_number",
        "reference of the document|file or case reference",
        "Reference|Our Ref|Ref|Ref.|Our reference|Your Ref|Case No.|File No.",
        "Unser Zeichen|Aktenzeichen|Az.|Referenz|Ihr Zeichen|Vorgang|Ihre Referenz",
        "Réf.|Référence|N/Réf|Votre référence|V/Réf",
        "Ref.|Referencia|Expediente",
        "Rif.|Ns. rif.|Riferimento|Pratica",
        "Kenmerk|Ons kenmerk|Referentie|Uw kenmerk",
    ),
    "delivery_note": _concept(
        "text",
        "delivery_note|delivery_note_number|shipment_id|waybill",
        "number of the delivery note|shipment number",
        "Delivery Note|Shipment|Waybill|DN No.|Packing Slip|D/O No",
        "Lieferschein-Nr.|Lieferschein|Lieferscheinnummer|Lieferavis",
        "Bon de livraison|N° BL|Livraison n°",
        "Albarán|Nº albarán",
        "DDT|Bolla n.|DDT n.",
        "Pakbon|Pakbonnummer|Leverbon",
    ),
    "issue_date": _concept(
        "date",
        "issue_date|issue_date|date|invoice_date|issued_on|document_date|date_of_issue",
        "date the document was issued|invoice date|date of issue",
        "Date|Invoice Date|Date of Issue|Issue Date|Issued|DATE|Inv Date|Date Issued|Tax Date|Billing Date|Dated",
        "Datum|Rechnungsdatum|Ausstellungsdatum|Belegdatum|Beleg-Datum|Rechnungs-Datum|vom",
        "Date|Date de facture|Le|Date d'émission|Date facture",
        "Fecha|Fecha de factura|Fecha de emisión|Fecha factura",
        "Data|Data fattura|Del|Data documento|Data emissione",
        "Datum|Factuurdatum|Datum factuur",
    ),
    "due_date": _concept(
        "date",
        "due_date|due_date|payment_due|due|due_on|payment_due_date|pay_by",
        "date by which to pay|payment due date|last day to pay",
        "Due Date|Due|Payment Due|Due On|Pay By|Date Due|DUE DATE|Payment due by|Please pay by",
        "Fällig am|Zahlbar bis|Fälligkeitsdatum|Zahlungsziel|Fälligkeit|Fällig|zahlbar bis zum",
        "Échéance|Date d'échéance|À payer avant le|Payable le",
        "Vencimiento|Fecha de vencimiento|Vence el",
        "Scadenza|Data scadenza|Da pagare entro|Scadenza pagamento",
        "Vervaldatum|Te betalen voor|Betalen voor|Uiterste betaaldatum",
    ),
    "delivery_date": _concept(
        "date",
        "delivery_date|ship_date|delivered_on|service_date|shipping_date",
        "date of delivery or service|day the goods were delivered",
        "Delivery Date|Ship Date|Date Shipped|Delivered|Expected Delivery|Service Date|Date of Supply",
        "Lieferdatum|Liefertermin|Leistungsdatum|Leistungs-Datum|Liefer- und Leistungsdatum|Lieferung am",
        "Date de livraison|Livré le|Livraison le",
        "Fecha de entrega|Entregado el|Entrega",
        "Data consegna|Consegnato il|Consegna",
        "Leverdatum|Geleverd op|Verzenddatum",
    ),
    "order_date": _concept(
        "date",
        "order_date|ordered_on|purchase_date",
        "date of the order|day the order was placed",
        "Order Date|Ordered|Ordered On|PO Date|Date Ordered",
        "Bestelldatum|Bestell-Datum|Auftragsdatum|Bestellt am|Auftrag vom",
        "Date de commande|Commandé le|Commande du",
        "Fecha de pedido|Pedido del|Fecha pedido",
        "Data ordine|Ordine del|Ordinato il",
        "Orderdatum|Besteld op|Besteldatum",
    ),
    "grand_total": _concept(
        "number",
        (
            "grand_total|grand_total|total|total_amount|amount_due|gross_total|invoice_total|total_due|"
            "gross_amount|amount"
        ),
        "total including tax|amount to pay, tax included|gross total|grand total",
        (
            "Total|TOTAL|Grand Total|Amount Due|Total Due|Total Amount|Invoice Total|TOTAL DUE|Total "
            "incl. VAT|Amount Payable|Gross"
        ),
        (
            "Gesamtbetrag|Gesamt|Rechnungsbetrag|Summe|Endbetrag|Gesamtsumme|Zu zahlen|Bruttobetrag|"
            "Bruttosumme|Zahlbetrag|Brutto"
        ),
        "Total TTC|Montant TTC|Net à payer|Total à payer|TOTAL TTC|Solde à payer",
        "Total|Importe total|TOTAL|Total a pagar|Total factura",
        "Totale|Totale fattura|TOTALE|Importo totale|Totale da pagare|Totale documento",
        "Totaal|Totaalbedrag|Te betalen|Totaal incl. btw|TOTAAL",
    ),
    "net_total": _concept(
        "number",
        "net_total|net_total|subtotal|net_amount|net|sub_total|total_net|taxable_amount",
        "total before tax|net amount|total without tax",
        (
            "Subtotal|Sub Total|Sub-total|Net Amount|Net|SUBTOTAL|Total excl. VAT|Net Total|Total before "
            "tax|Taxable amount"
        ),
        (
            "Nettobetrag|Netto|Zwischensumme|Summe netto|Rechnungssumme ohne USt.|Nettosumme|Gesamt "
            "netto|Warenwert|Positionssumme"
        ),
        "Total HT|Sous-total|Montant HT|TOTAL HT|Total hors taxes",
        "Base imponible|Subtotal|Importe neto|Total sin IVA",
        "Imponibile|Subtotale|Totale imponibile|Totale netto",
        "Subtotaal|Totaal excl. btw|Netto|Netto bedrag",
    ),
    "tax_total": _concept(
        "number",
        "tax_total|tax_total|tax|tax_amount|vat|vat_amount|sales_tax|total_tax",
        "total tax amount|VAT amount|sum of all taxes",
        "Tax|VAT|Sales Tax|GST|TAX|VAT Amount|Tax Amount|Total VAT|Total Tax|SST|HST",
        "MwSt.|USt.|Umsatzsteuer|MwSt|zzgl. MwSt.|Steuerbetrag|USt. Gesamt|Mehrwertsteuer|MwSt-Betrag",
        "TVA|Montant TVA|Total TVA|Total taxes",
        "IVA|Cuota IVA|Total IVA|Importe IVA",
        "IVA|Imposta|Totale IVA|Importo IVA",
        "BTW|Btw|Totaal btw|Btw-bedrag",
    ),
    "discount": _concept(
        "number",
        "discount|discount_amount|rebate",
        "discount granted|amount deducted",
        "Discount|Less Discount|Disc.|Rebate",
        "Rabatt|Nachlass|Skonto|abzgl. Rabatt",
        "Remise|Rabais|Escompte",
        "Descuento|Dto.",
        "Sconto|Ribasso",
        "Korting|Rabat",
    ),
    "shipping": _concept(
        "number",
        "shipping|shipping_cost|freight|delivery_fee|postage",
        "cost of shipping|freight charge",
        "Shipping|Freight|Delivery Fee|Postage|Handling|Shipping & Handling",
        "Versand|Versandkosten|Fracht|Porto|Frachtkosten",
        "Frais de port|Port|Livraison",
        "Envío|Gastos de envío|Portes",
        "Spedizione|Spese di spedizione|Trasporto",
        "Verzendkosten|Porto|Vracht",
    ),
    "paid_amount": _concept(
        "number",
        "paid_amount|amount_paid|prepaid|deposit|cash",
        "amount already paid|payment received",
        "Paid|Amount Paid|Deposit|Cash|CASH|Payment received|Tendered",
        "Bezahlt|Anzahlung|Bar|Erhaltene Anzahlungen|Gegeben|BAR",
        "Payé|Acompte|Espèces|Acompte versé",
        "Pagado|Anticipo|Efectivo|A cuenta",
        "Pagato|Acconto|Contanti|Acconto versato",
        "Betaald|Voorschot|Contant|Aanbetaling",
    ),
    "change": _concept(
        "number",
        "change|change_due|change_given",
        "change given back|cash returned",
        "Change|CHANGE|Change Due|Balance",
        "Rückgeld|Zurück|Wechselgeld",
        "Rendu|Monnaie|À rendre",
        "Cambio|Vuelta",
        "Resto|Cambio",
        "Wisselgeld|Terug",
    ),
    "currency": _concept(
        "currency",
        "currency|currency|currency_code|invoice_currency|currency_symbol",
        "currency of the amounts|currency as printed|currency code or sign",
        "Currency|Curr.|Invoice currency|All amounts in",
        "Währung|Währungscode|Alle Beträge in|Rechnungswährung",
        "Devise|Monnaie|Montants en",
        "Moneda|Divisa|Importes en",
        "Valuta|Divisa|Importi in",
        "Valuta|Munteenheid|Bedragen in",
    ),
    "seller_name": _concept(
        "text",
        (
            "seller_name|seller_name|seller|vendor|supplier|vendor_name|company|supplier_name|merchant|"
            "issuer|issuer_name"
        ),
        "company that issued the document|name of the seller|who sends the invoice",
        "From|Vendor|Seller|Supplier|Company|Billed by|Issued by|Sold by",
        "Von|Verkäufer|Lieferant|Absender|Firma|Rechnungssteller",
        "De|Vendeur|Fournisseur|Émetteur|Société",
        "De|Vendedor|Proveedor|Emisor|Empresa",
        "Da|Fornitore|Mittente|Venditore|Cedente",
        "Van|Leverancier|Verkoper|Afzender",
    ),
    "seller_address": _concept(
        "text",
        "seller_address|address|vendor_address|supplier_address|company_address|street_address",
        "postal address of the seller|address of the company",
        "Address|Registered office|Addr",
        "Anschrift|Adresse|Sitz",
        "Adresse|Siège",
        "Dirección|Domicilio",
        "Indirizzo|Sede",
        "Adres|Vestigingsadres",
    ),
    "buyer_name": _concept(
        "text",
        "buyer_name|buyer_name|customer|buyer|client|bill_to|customer_name|recipient|client_name",
        "company or person that is billed|name of the buyer|recipient of the invoice",
        "Bill To|Bill to|Customer|Client|Sold To|Invoice To|BILL TO|Billed to|Buyer|To|Customer Name",
        "An|Kunde|Rechnungsempfänger|Käufer|Rechnung an|Empfänger|Käufer/Leistungsempfänger|Auftraggeber",
        "Client|À|Facturé à|Destinataire|Acheteur|Adresse de facturation",
        "Cliente|Facturar a|Para|Comprador",
        "Cliente|Spett.le|Destinatario|Acquirente",
        "Klant|Aan|Factuur aan|Koper|Factuuradres",
    ),
    "buyer_address": _concept(
        "text",
        "buyer_address|customer_address|billing_address|client_address",
        "postal address of the buyer|billing address",
        "Billing Address|Address|Customer address",
        "Anschrift|Rechnungsadresse|Adresse",
        "Adresse de facturation|Adresse",
        "Dirección|Dirección de facturación",
        "Indirizzo|Indirizzo di fatturazione",
        "Adres|Factuuradres",
    ),
    "ship_to_name": _concept(
        "text",
        "ship_to|ship_to_name|delivery_recipient|consignee",
        "who receives the goods|delivery recipient",
        "Ship To|Deliver To|Consignee|SHIP TO|Delivery Address",
        "Lieferadresse|Warenempfänger|Lieferanschrift|Lieferung an|Abweichender Warenempfänger",
        "Livré à|Adresse de livraison|Lieu de livraison",
        "Enviar a|Dirección de entrega",
        "Destinazione|Luogo di consegna|Spedire a",
        "Afleveradres|Leveren aan|Bezorgadres",
    ),
    "seller_tax_id": _concept(
        "text",
        "vat_id|tax_id|seller_tax_id|vat_number|tax_number|seller_vat_id|gst_number",
        "tax number of the seller|VAT id",
        "VAT No.|VAT ID|Tax ID|VAT Reg No|EIN|ABN|VAT Number|GST No.|GST ID",
        "USt-IdNr.|USt-ID|Steuernummer|Steuer-Nr.|UID|USt.-Id.-Nr.",
        "N° TVA|TVA intracommunautaire|SIRET|TVA",
        "NIF|CIF|NIF/CIF",
        "P.IVA|Partita IVA|P. IVA",
        "Btw-nr.|BTW-nummer|Btw-id",
    ),
    "iban": _concept(
        "text",
        "iban|bank_account|account_iban",
        "IBAN to pay to|bank account number",
        "IBAN|Account No|IBAN No.",
        "IBAN|IBAN Nr.",
        "IBAN|Compte",
        "IBAN|Cuenta",
        "IBAN|Conto IBAN",
        "IBAN|Rekeningnummer",
    ),
    "payment_terms": _concept(
        "text",
        "payment_terms|terms",
        "agreed terms of payment|payment conditions",
        "Terms|Payment Terms|TERMS|Payment terms",
        "Zahlungsbedingungen|Zahlungsbedingung|Zahlungskonditionen",
        "Conditions de paiement|Modalités",
        "Condiciones de pago|Forma de pago",
        "Termini di pagamento|Condizioni di pagamento",
        "Betalingstermijn|Betalingsvoorwaarden",
    ),
    "payment_method": _concept(
        "text",
        "payment_method|paid_by|payment_type|tender",
        "how it was paid|means of payment",
        "Payment Method|Paid by|Payment|Tender|Method of Payment|Payment Mode",
        "Zahlungsart|Bezahlt mit|Zahlart|Zahlung",
        "Mode de paiement|Règlement|Paiement",
        "Método de pago|Pago|Medio de pago",
        "Metodo di pagamento|Pagamento|Modalità",
        "Betaalwijze|Betaald met|Betaling",
    ),
    "contact": _concept(
        "text",
        "contact|contact_person|contact_name|sales_rep|cashier|clerk",
        "person to contact|who handled it",
        "Contact|Attn|Sales Rep|Contact Person|Salesperson|Prepared by|Cashier|Served by",
        "Ansprechpartner|Bearbeiter|Sachbearbeiter|Es bediente Sie|Kontakt",
        "Contact|Votre interlocuteur|Contact commercial|Caissier",
        "Contacto|Atendido por|Comercial",
        "Contatto|Referente|Operatore",
        "Contactpersoon|Kassier|Behandeld door",
    ),
    "email": _concept(
        "text",
        "email|email_address|contact_email",
        "e-mail address|contact e-mail",
        "Email|E-mail|Mail",
        "E-Mail|Mail|E-Mail-Adresse",
        "E-mail|Courriel|Mél",
        "Email|Correo",
        "Email|E-mail|Mail",
        "E-mail|Mail",
    ),
    "phone": _concept(
        "text",
        "phone|telephone|phone_number|tel",
        "telephone number|phone of the sender",
        "Phone|Tel|Tel.|Telephone|Ph",
        "Tel.|Telefon|Tel|Fon",
        "Tél.|Tél|Téléphone",
        "Tel.|Teléfono|Tfno.",
        "Tel.|Telefono|Tel",
        "Tel.|Telefoon|Tel",
    ),
    "time": _concept(
        "text",
        "time|transaction_time|time_of_day",
        "time of the transaction|time of day",
        "Time|TIME",
        "Uhrzeit|Zeit",
        "Heure",
        "Hora",
        "Ora",
        "Tijd",
    ),
    "subject": _concept(
        "text",
        "subject|topic|regarding|title",
        "what it is about|subject line",
        "Subject|Re|Regarding|Project|Title",
        "Betreff|Betr.|Projekt|Bauvorhaben",
        "Objet|Projet",
        "Asunto|Proyecto",
        "Oggetto|Progetto",
        "Betreft|Onderwerp|Project",
    ),
}

# Line item columns: concept-like entries for table headers and field names.
COLUMNS: dict[str, Concept] = {
    "description": _concept(
        "text",
        "description|description|item|name|product|article|service",
        "what was sold|item text",
        "Description|Item|Product|Service|DESCRIPTION|Article|Details",
        "Bezeichnung|Beschreibung|Artikel|Leistung|Artikelbezeichnung|Produkt",
        "Désignation|Description|Article|Libellé",
        "Descripción|Concepto|Artículo",
        "Descrizione|Articolo|Prodotto",
        "Omschrijving|Artikel|Product",
    ),
    "quantity": _concept(
        "number",
        "quantity|quantity|qty|count|units",
        "how many|number of units",
        "Qty|Quantity|QTY|Units|Hours",
        "Menge|Anzahl|Stück|Menge",
        "Quantité|Qté",
        "Cantidad|Cant.|Uds.",
        "Quantità|Q.tà|Qta",
        "Aantal|Hoeveelheid",
    ),
    "unit_price": _concept(
        "number",
        "unit_price|unit_price|price|rate|price_per_unit",
        "price of one unit|price each",
        "Unit Price|Price|Rate|Unit Cost|Each|U.Price",
        "Einzelpreis|Preis|Nettopreis|E-Preis|EP",
        "Prix unitaire|PU HT|Prix|P.U.",
        "Precio|Precio unitario|P. unit.",
        "Prezzo|Prezzo unitario|Prezzo unit.",
        "Prijs|Stukprijs|Eenheidsprijs",
    ),
    "amount": _concept(
        "number",
        "amount|amount|total|line_total|price_total|sum",
        "amount of the line|line total",
        "Amount|Total|Line Total|AMOUNT|Net|Ext. Price",
        "Gesamt|Betrag|Gesamtpreis|Nettobetrag|Summe|GP|Entgelt",
        "Montant|Total HT|Prix HT|Montant HT",
        "Importe|Total",
        "Importo|Totale",
        "Bedrag|Totaal",
    ),
    "sku": _concept(
        "text",
        "sku|item_number|article_number|item_code|product_code",
        "article number|item code",
        "Item #|SKU|Code|Item No.|Part No.",
        "Art.-Nr.|Artikelnr.|Art-Nr|Artikelnummer",
        "Réf.|Référence|Code",
        "Ref.|Código",
        "Codice|Cod.|Cod. art.",
        "Art.nr.|Artikelnr.|Code",
    ),
}
LINE_ITEMS_NAMES = ("line_items",) * 3 + (
    "items",
    "positions",
    "products",
    "lines",
    "rows",
    "invoice_lines",
    "articles",
)

TITLES: dict[str, dict[str, tuple[str, ...]]] = {
    "invoice": {
        "en": ("INVOICE", "Invoice", "TAX INVOICE", "Tax Invoice", "Commercial Invoice", "Bill"),
        "de": ("RECHNUNG", "Rechnung", "Handelsrechnung", "Schlussrechnung", "Abrechnung"),
        "fr": ("FACTURE", "Facture"),
        "es": ("FACTURA", "Factura"),
        "it": ("FATTURA", "Fattura"),
        "nl": ("FACTUUR", "Factuur"),
    },
    "credit_note": {
        "en": ("CREDIT NOTE", "Credit Note", "Credit Memo"),
        "de": ("GUTSCHRIFT", "Gutschrift", "Rechnungskorrektur", "Stornorechnung"),
        "fr": ("AVOIR", "Avoir"),
        "es": ("Factura rectificativa", "ABONO"),
        "it": ("Nota di credito", "NOTA DI CREDITO"),
        "nl": ("Creditnota", "CREDITFACTUUR"),
    },
    "order": {
        "en": ("PURCHASE ORDER", "Purchase Order", "Order Confirmation", "Sales Order"),
        "de": ("Bestellung", "Auftragsbestätigung", "BESTELLUNG"),
        "fr": ("Bon de commande", "Confirmation de commande"),
        "es": ("Pedido", "Confirmación de pedido"),
        "it": ("Ordine", "Conferma d'ordine"),
        "nl": ("Bestelling", "Orderbevestiging"),
    },
    "quote": {
        "en": ("QUOTE", "Quotation", "Estimate"),
        "de": ("Angebot", "ANGEBOT", "Kostenvoranschlag"),
        "fr": ("DEVIS", "Devis"),
        "es": ("Presupuesto", "OFERTA"),
        "it": ("Preventivo", "OFFERTA"),
        "nl": ("Offerte", "OFFERTE"),
    },
    "receipt": {
        "en": ("RECEIPT", "Sales Receipt", "CASH RECEIPT", "TAX INVOICE", "CASH BILL", "INVOICE", "GUEST CHECK"),
        "de": ("Kassenbon", "Quittung", "BELEG", "Rechnung", "KUNDENBELEG"),
        "fr": ("Ticket de caisse", "REÇU", "TICKET"),
        "es": ("Recibo", "TICKET", "Factura simplificada"),
        "it": ("Scontrino", "RICEVUTA", "DOCUMENTO COMMERCIALE"),
        "nl": ("Kassabon", "BON", "KLANTENBON"),
    },
    "form": {
        "en": (
            "Form",
            "Summary",
            "Record",
            "Certificate",
            "Report",
            "Booking Confirmation",
            "Application",
            "Statement",
        ),
        "de": ("Formular", "Übersicht", "Bescheinigung", "Protokoll", "Antrag", "Vertragsdaten"),
        "fr": ("Fiche", "Attestation", "Formulaire"),
        "es": ("Ficha", "Certificado", "Solicitud"),
        "it": ("Scheda", "Certificato", "Modulo"),
        "nl": ("Overzicht", "Verklaring", "Formulier"),
    },
}

# Free labels of forms: two parts in English, a compound in German.
FORM_SUBJECTS = _listed(
    "Project|Contract|Policy|Vehicle|Vessel|Delivery|Shipment|Booking|Flight|Room|Claim|Member|"
    "Patient|License|Serial|Batch|Lot|"
    "Tracking|Container|Asset|Job|Work|Site|Branch|Department|Cost|Budget|Product|Model|Part|Customs|"
    "Insurance|Employee|Driver|"
    "Store|Terminal|Carrier|Warehouse|Pickup|Arrival|Departure|Start|End|Meter|Tariff|Rate|Deposit|"
    "Service|Minimum|Previous|"
    "Opening|Closing|Inspection|Approval|Expiry|Renewal|Birth|Hire|Quote|Country|Region|Unit|Grade|"
    "Size|Status|Category|Type|"
    "Owner|Manager|Agent|Broker|Tenant|Landlord|Origin|Destination|Port|Gate|Seat|Class|Plan|Course|"
    "School|Bank|Court|Sample|Test"
)
FORM_OBJECTS: dict[str, tuple[str, ...]] = {
    "text": _listed(
        "Code|ID|No.|Number|Name|Reference|Type|Status|Location|Plate|Center|Class|Person|City|Title|Key|Group"
    ),
    "date": _listed("Date|Date|Day|Deadline|Period End"),
    "number": _listed("Amount|Fee|Charge|Cost|Total|Weight|Quantity|Price|Value|Balance|Count"),
}
FORM_SUBJECTS_DE = _listed(
    "Projekt|Vertrags|Fahrzeug|Liefer|Auftrags|Konto|Mitglieds|Zähler|Geräte|Serien|Chargen|Artikel|"
    "Objekt|Personal|Versand|Lager|"
    "Mandats|Gläubiger|Policen|Schaden|Miet|Start|End|Leistungs|Kurs|Prüf|Melde|Abrechnungs"
)
FORM_OBJECTS_DE: dict[str, tuple[str, ...]] = {
    "text": _listed("nummer|-Nr.|code|name|kennzeichen|-ID|bezeichnung|art|ort|status"),
    "date": _listed("datum|beginn|ende|termin"),
    "number": _listed("betrag|gebühr|kosten|wert|gewicht|menge|preis"),
}
STATES = _listed(
    "Yes|No|Active|Pending|A|B|C2|Standard|Express|High|Low|Open|Closed|Approved|Germany|France|"
    "Italy|Spain|XL|Economy|Business|"
    "Premium|Basic|Ja|Nein|Offen|Aktiv|Oui|Non|Sí|Attivo|Actief"
)

PRODUCTS: dict[str, tuple[str, ...]] = {
    "en": _listed(
        "Widget Cable Service Consulting Hosting License Support Monitor Keyboard Desk Chair Paper "
        "Toner Cartridge Maintenance Design "
        "Training Repair Filter Pump Valve Screw Bolt Panel Battery Adapter Router Server Storage "
        "Annual Monthly Coffee Latte Tea "
        "Sandwich Salad Burger Pizza Milk Bread Cheese Apple Water Juice Rice Pasta Chicken Soup "
        "Cake Shirt Shoes Jacket Paint Brush "
        "Hammer Drill Steel Pipe Hose Lamp Bulb Glass Door Lock Box Pallet Delivery Installation "
        "Inspection Cleaning Labor Hours Set "
        "Kit Large Small Red Blue Black White Premium Basic Pro Mini Organic Fresh Hot Ice Fried "
        "Spicy Fish Egg Noodle",
        None,
    ),
    "de": _listed(
        "Schraube Kabel Wartung Beratung Montage Lieferung Papier Drucker Stuhl Tisch Reinigung "
        "Stunden Brot Käse Wasser Kaffee Saft "
        "Milch Lampe Bohrer Farbe Pinsel Ordner Heft Kugelschreiber Filter Pumpe Ventil Leitung "
        "Platte Dichtung Reifen Öl Wurst Apfel "
        "Birne Joghurt Seife Regal Fenster Tür Fliesen Arbeitszeit Anfahrt Miete Pauschale Miettage "
        "Versicherung groß klein rot blau",
        None,
    ),
    "fr": _listed(
        "Conseil Maintenance Livraison Papier Chaise Table Lampe Pain Fromage Café Thé Jus Lait "
        "Huile Savon Vis Câble Peinture Outil "
        "Filtre Pompe Heures Formation Abonnement Biscuit Confiture Miel Vin Eau Nettoyage grand petit rouge bleu bio",
        None,
    ),
    "es": _listed(
        "Servicio Consultoría Papel Silla Mesa Lámpara Pan Queso Café Té Zumo Leche Aceite Jabón "
        "Tornillo Cable Pintura Filtro Bomba "
        "Horas Formación Vino Agua Limpieza Mantenimiento Tortilla Ensalada grande pequeño rojo azul",
        None,
    ),
    "it": _listed(
        "Servizio Consulenza Carta Sedia Tavolo Lampada Pane Formaggio Caffè Tè Succo Latte Olio "
        "Sapone Vite Cavo Vernice Filtro Pompa "
        "Ore Formazione Vino Acqua Pulizia Manutenzione Pizza Pasta grande piccolo rosso blu",
        None,
    ),
    "nl": _listed(
        "Dienst Advies Papier Stoel Tafel Lamp Brood Kaas Koffie Thee Sap Melk Olie Zeep Schroef "
        "Kabel Verf Filter Pomp Uren Training "
        "Wijn Water Schoonmaak Onderhoud Montage groot klein rood blauw",
        None,
    ),
}
UNITS: dict[str, tuple[str, ...]] = {
    "en": ("pcs", "kg", "hrs", "EA", "box", "m"),
    "de": ("Stk", "Stk.", "Std.", "kg", "Stück", "m", "Tag(e)"),
    "fr": ("pce", "h", "kg", "Unité(s)"),
    "es": ("uds", "h", "kg"),
    "it": ("pz", "ore", "kg"),
    "nl": ("st", "uur", "kg"),
}

REMARKS: dict[str, tuple[str, ...]] = {
    "en": (
        "Thank you for your business!",
        "Please make checks payable to the company above.",
        "All prices exclude sales tax unless stated.",
        "Goods remain our property until paid in full.",
        "This is a computer generated document.",
        "Questions? Call us.",
        "THANK YOU",
        "PLEASE COME AGAIN",
        "Returns within 14 days with receipt.",
        "Goods sold are not returnable",
        "Please quote the invoice number with your payment.",
        "Open Mon-Fri 9-17",
        "Registered in England",
        "Customer copy",
        "E.&O.E.",
        "Payment is due within 30 days of the invoice date.",
    ),
    "de": (
        "Vielen Dank für Ihren Auftrag!",
        "Bitte überweisen Sie den Betrag ohne Abzug.",
        "Es gelten unsere Allgemeinen Geschäftsbedingungen.",
        "Mit freundlichen Grüßen",
        "Vielen Dank für Ihren Einkauf",
        "Sehr geehrte Damen und Herren,",
        "Wir danken für Ihr Vertrauen.",
        "Bankverbindung",
        "Die Ware bleibt bis zur vollständigen Bezahlung unser Eigentum.",
        "Es bestehen Rabatt- oder Bonusvereinbarungen.",
        "wir erlauben uns, Ihnen wie folgt in Rechnung zu stellen:",
        "Gerichtsstand ist der Sitz der Gesellschaft.",
        "Steuerfreie Lieferung innerhalb der EU.",
    ),
    "fr": (
        "Merci de votre confiance.",
        "Conditions générales de vente au verso.",
        "Paiement à réception.",
        "Pas d'escompte pour paiement anticipé.",
        "Pénalités de retard : trois fois le taux légal.",
        "Merci de votre visite",
        "Facture à régler par virement sur le compte suivant :",
    ),
    "es": ("Gracias por su compra", "Gracias por su confianza.", "IVA incluido", "Conserve este ticket."),
    "it": ("Grazie per l'acquisto", "Cordiali saluti", "Operazione soggetta a IVA.", "Grazie e arrivederci"),
    "nl": (
        "Bedankt voor uw bestelling",
        "Met vriendelijke groet",
        "Wij danken u voor uw opdracht.",
        "Bewaar deze bon.",
    ),
}
PAGE_MARKS: dict[str, str] = {
    "en": "Page {0} of {1}",
    "de": "Seite {0} von {1}",
    "fr": "Page {0} / {1}",
    "es": "Página {0} de {1}",
    "it": "Pagina {0} di {1}",
    "nl": "Pagina {0} van {1}",
}
TERMS = _listed(
    "Net 30|Net 15|Net 60|NET30|Due on receipt|30 days|14 days net|14 Tage netto|30 Tage netto|"
    "sofort|COD|2% 10 Net 30|30 jours|"
    "30 giorni|30 dagen|upon receipt|60 days|30 días|sofort rein netto|8 Tage 2% Skonto"
)
METHODS = _listed(
    "Cash|CASH|VISA|Visa|Mastercard|MASTERCARD|Credit Card|EC-Karte|Bar|Debit|PayPal|Bank transfer|"
    "Überweisung|AMEX|Apple Pay|"
    "girocard|Card|Check|Virement|CB|Tarjeta|Efectivo|Contanti|Bonifico|PIN|iDEAL|SEPA"
)

# Facts inside sentences: {0} is the value.
SENTENCES: dict[str, dict[str, tuple[str, ...]]] = {
    "due_date": {
        "en": ("Please pay by {0}.", "Payment is expected no later than {0}.", "Payable until {0} without deduction."),
        "de": (
            "Bitte überweisen Sie bis zum {0}.",
            "Zahlbar bis {0} ohne Abzug.",
            "Zahlbar innerhalb 30 Tagen netto bis {0}.",
        ),
        "fr": ("À régler avant le {0}.", "Payable au plus tard le {0}."),
        "es": ("Pago antes del {0}.",),
        "it": ("Da pagare entro il {0}.",),
        "nl": ("Gelieve te betalen voor {0}.",),
    },
    "order_date": {
        "en": ("With reference to your order of {0}.", "As ordered on {0}."),
        "de": ("Rechnung gemäß Bestellung vom {0}.", "Ihre Bestellung vom {0}."),
        "fr": ("Suite à votre commande du {0}.",),
        "es": ("Según su pedido del {0}.",),
        "it": ("Come da Vs. ordine del {0}.",),
        "nl": ("Volgens uw bestelling van {0}.",),
    },
    "delivery_date": {
        "en": ("The goods were delivered on {0}.", "Service provided on {0}."),
        "de": ("Die Lieferung erfolgte am {0}.", "Leistung erbracht am {0}."),
        "fr": ("Marchandise livrée le {0}.",),
        "es": ("Mercancía entregada el {0}.",),
        "it": ("Merce consegnata il {0}.",),
        "nl": ("De goederen zijn geleverd op {0}.",),
    },
    "contact": {
        "en": ("If you have questions, please ask for {0}.", "Your contact is {0}."),
        "de": ("Bei Rückfragen wenden Sie sich an {0}.", "Es betreut Sie {0}."),
        "fr": ("Votre interlocuteur est {0}.",),
        "es": ("Su contacto es {0}.",),
        "it": ("Il suo referente è {0}.",),
        "nl": ("Uw contactpersoon is {0}.",),
    },
    "grand_total": {
        "en": ("The total of {0} is payable on receipt.", "Please transfer {0} to our account."),
        "de": ("Bitte überweisen Sie {0} auf unser Konto.", "Der Gesamtbetrag von {0} ist sofort fällig."),
        "fr": ("Le montant de {0} est à régler par virement.",),
        "es": ("El importe de {0} se abonará por transferencia.",),
        "it": ("L'importo di {0} va versato sul nostro conto.",),
        "nl": ("Het bedrag van {0} graag overmaken.",),
    },
}
MONTHS: dict[str, tuple[str, ...]] = {
    "en": _listed("January February March April May June July August September October November December", None),
    "de": _listed("Januar Februar März April Mai Juni Juli August September Oktober November Dezember", None),
    "fr": _listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre", None),
    "es": _listed("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre", None),
    "it": _listed(
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre", None
    ),
    "nl": _listed("januari februari maart april mei juni juli augustus september oktober november december", None),
}
