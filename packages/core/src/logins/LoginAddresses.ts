import { hostOf, isLoopback } from "@reins/machine/outbound/Address"

/** The name that people see at the authorization server. */
export const clientName = "Reins"

/** The path of the page that catches the answer, below the public URL. */
const pagePath = "/ui/connected"

/** The path of the client ID document, below the public URL. */
export const clientDocumentPath = "/oauth/client.json"

/** The address of the page that catches the answer. */
export const pageRedirect = (publicUrl: string): string => `${publicUrl}${pagePath}`

/** Addresses on the machine of a person, for a program that catches the answer. Their port is free (RFC 8252, 7.3). */
const programRedirects = ["http://127.0.0.1/callback", "http://localhost/callback"]

/** True for the public URL of an installation that other services may reach. */
const isPublic = (publicUrl: string): boolean => {
  const url = new URL(publicUrl)
  return url.protocol === "https:" && !isLoopback(hostOf(url))
}

/** The client ID document of an installation; undefined where no other service could read it. */
export const clientDocument = (publicUrl: string): Readonly<Record<string, unknown>> | undefined =>
  isPublic(publicUrl)
    ? {
        client_id: `${publicUrl}${clientDocumentPath}`,
        client_name: clientName,
        client_uri: publicUrl,
        redirect_uris: [pageRedirect(publicUrl), ...programRedirects],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        application_type: "web"
      }
    : undefined
