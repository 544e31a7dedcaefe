import { randomUUID } from "node:crypto"
import { STATUS_CODES } from "node:http"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { envelopeOf, headersOf } from "./middleware/ErrorEnvelope.js"

/** The whole answer to bytes that are no HTTP request. The connection ends with it. `fault` is the code that Node gives. */
export const answerUnreadable = (fault: string | undefined): string =>
  templateFor(fault).replaceAll(requestIdOfTemplates, randomUUID())

const requestIdOfTemplates = randomUUID()

/** An answer with a placeholder for the request id. It is made in advance, because thousands of connections can time out in one moment. */
const templateOf = (error: ReinsError): string => {
  const body = JSON.stringify(envelopeOf(error, requestIdOfTemplates))
  const headers = {
    ...headersOf(error),
    "x-request-id": requestIdOfTemplates,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    connection: "close"
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join("")}\r\n${body}`
}

const tooSlow = templateOf(
  new ReinsError({
    code: "request_timeout",
    message: "The request took too long to arrive: nothing of it was done. Send it again."
  })
)
const tooLarge = templateOf(
  new ReinsError({
    code: "headers_too_large",
    message:
      "The address and headers of the request are larger than 16 KiB together. Send less, or send it in the body."
  })
)
const malformed = templateOf(
  new ReinsError({
    code: "malformed_request",
    message: "This is no HTTP request that can be read. Look at what your client or proxy sends."
  })
)

const templateFor = (fault: string | undefined): string => {
  switch (fault) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return tooSlow
    case "HPE_HEADER_OVERFLOW":
      return tooLarge
    default:
      return malformed
  }
}
