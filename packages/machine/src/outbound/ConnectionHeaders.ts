/** The headers that belong to one connection, and that nobody in between passes on (RFC 9110, 7.6.1). */
export const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])
