"""Lets torchvision be imported beside a CPU build of torch; the test environment runs this as Python starts.

PyPI's torchvision is built for CUDA, so that its library can't load here, and importing it fails where it adds to the
operators of that library. SGLang's image processors want its Python side only, so their names are enough.
"""

import sys

_OPERATORS = (
    *("nms", "qnms", "roi_align", "qroi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"),
    *("_roi_align_backward", "_roi_pool_backward", "_ps_roi_align_backward", "_ps_roi_pool_backward"),
    "_deform_conv2d_backward",
)


class _BeforeTorchvision:
    """Finds nothing, but is asked first."""

    library = None

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "torchvision" and cls.library is None:
            import torch

            if torch.version.cuda is None:
                cls.library = torch.library.Library("torchvision", "FRAGMENT")
                for operator in _OPERATORS:
                    cls.library.define(f"{operator}(Tensor x) -> Tensor")
        return


sys.meta_path.insert(0, _BeforeTorchvision)
