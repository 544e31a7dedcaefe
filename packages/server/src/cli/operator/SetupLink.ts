import type { Config } from "../../Config.js"

/** The fields that the page fills in for the person who opens the link. */
interface Filled {
  readonly email?: string | undefined
  readonly gateway?: string | undefined
}

/** The page that makes the first account. The code comes behind the `#`, which no browser sends and no proxy logs. */
export const setupLinkOf = (
  { publicUrl }: Pick<Config, "publicUrl">,
  code: string,
  { email, gateway }: Filled = {}
): string => {
  const filled = new URLSearchParams({ setup: code, ...(email && { email }), ...(gateway && { gateway }) })
  return `${publicUrl.href.replace(/\/$/, "")}/ui#${filled}`
}
