/** The address of a repository for a browser, and its name; undefined for one without a page. */
export const repositoryPage = (url: string): { readonly href: string; readonly name: string } | undefined => {
  const [, host, path] = /^https?:\/\/(?:[^@/]*@)?([^/]+)\/(.+?)(?:\.git)?\/?$/.exec(url) ?? []
  if (host === undefined || path === undefined) return undefined
  return { href: `${url.startsWith("http:") ? "http" : "https"}://${host}/${path}`, name: path }
}
