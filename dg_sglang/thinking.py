"""Where the thinking ends that comes before a constrained answer."""


class Thinking:
    """The thinking that comes before a constrained answer.

    Attributes:
        over: the answer begins.
    """

    def __init__(self, opening: int, closing: int, *, begun: bool, marked: bool = False) -> None:
        """Before the first canvas.

        Args:
            opening: the channel's opening token.
            closing: its closing token.
            begun: whether the prompt's end has opened the channel.
            marked: whether an answer without thinking begins with the closing token, for readers who take all before
                it for thinking.
        """
        self._opening, self._closing = opening, closing
        self._marked = marked
        self._begun = begun
        self.over = False

    def take(self, tokens: list[int], room: int, end_token_ids: frozenset[int]) -> list[int]:
        """The part of a free canvas that is thinking, at most `room` tokens.

        Nothing if the model doesn't think (or the mark of that); the whole canvas if it goes on; else the part up to
        the closing token, which is put in where the model ends its turn or the room ends.
        """
        if not self._begun and tokens[0] != self._opening:
            self.over = True
            return [self._closing] if self._marked else []
        self._begun = True
        stops = {self._closing, *end_token_ids}
        end = next((index for index, token in enumerate(tokens[: room - 1]) if token in stops), room - 1)
        if end >= len(tokens):
            return tokens
        self.over = True
        return [*tokens[:end], self._closing]
