import { cutText } from "@reins/base/base/CutText"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { Exchange } from "./Exchange.js"

/** The error for a body that is not announced as JSON in UTF-8. A guess would take a form or a text for what it is not. */
export const refusalOfType = (exchange: Exchange): ReinsError<"unsupported_media_type"> | undefined => {
  const given = exchange.header("content-type")
  return given !== undefined && isJson(given) ? undefined : unsupported(given)
}

/** True when a request announces a body, which may be empty only when its length is unknown. */
export const announcesBody = (exchange: Exchange): boolean =>
  exchange.header("transfer-encoding") !== undefined || Number(exchange.header("content-length") ?? 0) > 0

const isJson = (contentType: string): boolean => {
  if (contentType === "application/json") return true
  const [type = "", ...parameters] = contentType.split(";").map((part) => part.trim())
  const charsets = parameters.filter((parameter) => /^charset\s*=/i.test(parameter))
  return jsonType.test(type) && charsets.every((charset) => utf8.test(charset))
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json$/i
const utf8 = /=\s*"?(?:utf-?8|us-ascii)"?$/i

const unsupported = (given: string | undefined) =>
  new ReinsError({
    code: "unsupported_media_type",
    message: `${
      given === undefined ? "The body has no Content-Type." : "The Content-Type of the body is not JSON in UTF-8."
    } Send JSON with the header Content-Type: application/json.`,
    details: { content_type: given === undefined ? null : cutText(given, 100) }
  })
