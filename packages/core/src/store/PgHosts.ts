/** A URL of PostgreSQL that names several servers, as libpq takes it. */
export const severalHosts =
  "REINS_DATABASE_URL names several hosts, and Reins connects to one. Name the primary server, or one address that follows it: that of a proxy, or a name that moves with it."

/** True for a URL that names several hosts, in its authority or in its query. */
export const namesSeveralHosts = (url: string): boolean => {
  const [address = "", query = ""] = afterScheme(url).split("?", 2)
  const authority = address.split("/", 1)[0] ?? ""
  const hosts = authority.slice(authority.lastIndexOf("@") + 1)
  const parameters = new URLSearchParams(query.split("#", 1)[0])
  return [hosts, ...parameters.getAll("host"), ...parameters.getAll("hostaddr"), ...parameters.getAll("port")].some(
    (names) => /,|%2c/i.test(names)
  )
}

const afterScheme = (url: string): string => {
  const end = url.indexOf("://")
  return end < 0 ? "" : url.slice(end + 3)
}
