/** A text without one slash at its end. */
export const trimmed = (text: string): string => (text.endsWith("/") ? text.slice(0, -1) : text)

/** True where a name of a protected resource covers a server: the same origin, and the path of the server or one above it. */
export const isUrlOf = (resource: string, server: URL): boolean => {
  if (!URL.canParse(resource)) return false
  const { origin, pathname } = new URL(resource)
  return origin === server.origin && `${trimmed(server.pathname)}/`.startsWith(`${trimmed(pathname)}/`)
}

/** True where two texts are the address of one server. */
export const isSameServer = (one: string, other: string): boolean => {
  if (!URL.canParse(one) || !URL.canParse(other)) return false
  const [left, right] = [new URL(one), new URL(other)]
  return (
    left.origin === right.origin && trimmed(left.pathname) === trimmed(right.pathname) && left.search === right.search
  )
}
