import { computed, signal } from "@preact/signals"

const read = (): string => {
  const base = new URL(document.baseURI).pathname
  const { pathname } = location
  return pathname.startsWith(base) ? pathname.slice(base.length) : ""
}

/** The address of the page below `/ui`, as in `sessions/sess_1/changes`; empty for the inbox. */
export const path = signal(read())

/** The text behind `#` in the address; empty for nothing. */
export const hash = signal(location.hash)

/** A file that the address names behind `#`, as in `src/a.ts:12`, and the line in it. */
export const placeOfHash = (): { readonly path: string; readonly line: number | undefined } | undefined => {
  const text = decodeURIComponent(hash.value.slice(1))
  const [, path = "", line] = /^(.+?)(?::(\d+))?$/.exec(text) ?? []
  return path === "" ? undefined : { path, line: line === undefined ? undefined : Number(line) }
}

/** Its parts. */
export const parts = computed(() => path.value.split("/").filter((part) => part !== ""))

/** Leads to another page of the console. */
export const go = (to: string, { replace = false } = {}): void => {
  const url = new URL(to === "" ? "../ui" : to, document.baseURI)
  if (url.href === location.href) return
  if (replace) history.replaceState(null, "", url)
  else history.pushState(null, "", url)
  path.value = read()
  hash.value = location.hash
  scrollTo(0, 0)
}

/** Follows the links of the page and the buttons of the browser, and tells who cannot see it that the page is another one. */
export const startRouting = (): void => {
  // The document names the place of its files relative to where it was loaded, which another address would change.
  const base = document.querySelector("base")
  if (base !== null) base.href = document.baseURI
  path.value = read()
  addEventListener("popstate", () => {
    path.value = read()
    hash.value = location.hash
  })
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = event.target instanceof Element ? event.target.closest("a") : null
    if (link === null || link.target !== "" || link.hasAttribute("download")) return
    const inside = new URL(".", document.baseURI).href
    const isHome = link.href === inside.replace(/\/$/, "")
    if (!isHome && !link.href.startsWith(inside)) return
    event.preventDefault()
    go(isHome ? "" : link.href.slice(inside.length))
  })
}
