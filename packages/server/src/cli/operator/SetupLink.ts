import type { Config } from "../../Config.js"

/** The page that makes the first account. The code comes behind the `#`, which no browser sends and no proxy logs. */
export const setupLinkOf = ({ publicUrl }: Pick<Config, "publicUrl">, code: string): string =>
  `${publicUrl.href.replace(/\/$/, "")}/ui#setup=${code}`
