"""The webhooks' certificate: out of files, or made by ourselves and renewed in time."""

from lynq.webhooks.certificates.files import FromFiles
from lynq.webhooks.certificates.keeping import Lifetimes
from lynq.webhooks.certificates.protocol import Certificates
from lynq.webhooks.certificates.selfmade import Place, SelfMade

__all__ = ["Certificates", "FromFiles", "Lifetimes", "Place", "SelfMade"]
