import { signal } from "@preact/signals"
import { type List, type Me, Reins, ReinsApiError } from "@reins/client"

/** The URL of the service: the page is at `ui/` below it, also behind a proxy with a path of its own. */
export const serviceUrl = new URL("../", document.baseURI).href.replace(/\/$/, "")

/** The account that is logged in: undefined until the server has said, null for nobody. */
export const me = signal<Me | null | undefined>(undefined)

/** The login is a cookie that no script can read, and a change proves with the token that it comes from this page. */
const withLogin: typeof fetch = (input, init = {}) => {
  const headers = new Headers(init.headers)
  const token = me.peek()?.csrf_token
  if (token !== undefined && init.method !== "GET") headers.set("x-csrf-token", token)
  return fetch(input, { ...init, headers, credentials: "same-origin" })
}

/** The client of the server that this page came from, as the one who is logged in. */
export const reins = new Reins({ baseUrl: serviceUrl, fetch: withLogin })

/** The tokens that go along with logins. Other installations of the same host may have some of them. */
const loginTokens = (): ReadonlyArray<string> =>
  [...document.cookie.matchAll(/(?:^|; )reins_csrf_[0-9a-f]+=([^;]+)/g)].map(([, token = ""]) =>
    decodeURIComponent(token)
  )

/** Fails where the server has accepted a login and this browser has not kept its cookie: no page could work then. */
export const requireLoginCookie = (csrfToken: string): void => {
  if (loginTokens().includes(csrfToken)) return
  const overHttp =
    location.protocol === "http:"
      ? ` A server whose REINS_PUBLIC_URL begins with https:// has logins over https alone: open https://${location.host}, or correct that setting.`
      : ""
  throw new Error(
    `Your password is right, but this browser did not keep the cookie of the login. Allow cookies for ${location.host}.${overHttp}`
  )
}

/** Asks who is logged in. Fails when the server cannot be asked. */
export const whoAmI = async (): Promise<void> => {
  // Without the cookie that goes along with a login there is none, and nothing has to be asked.
  if (loginTokens().length === 0) {
    me.value = null
    return
  }
  try {
    me.value = await reins.accounts.getMe()
  } catch (error) {
    if (!isLoggedOut(error)) throw error
    me.value = null
  }
}

/** True for the refusal of a caller who is not logged in, or no longer. */
export const isLoggedOut = (error: unknown): boolean => error instanceof ReinsApiError && error.status === 401

/** A page that has every item of a list. A list that people choose from, or that decides what is shown, is read whole. */
export const wholeOf = async <Item>(
  list: Pick<List<unknown, Item>, "all">
): Promise<{ readonly items: ReadonlyArray<Item> }> => ({
  items: await list.all()
})
