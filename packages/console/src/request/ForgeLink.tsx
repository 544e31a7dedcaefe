import type { ComponentChildren } from "preact"
import { safeHref } from "../markdown/Render.js"

/** A name of the forge that leads to its page there. */
export const ForgeLink = ({ children, url }: { readonly url: string | null; readonly children: ComponentChildren }) => {
  const href = url === null ? undefined : safeHref(url)
  return href === undefined ? (
    children
  ) : (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  )
}
