import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { extension, idPath, read, remove } from "../domain/Endpoint.js"
import { Page } from "../domain/Page.js"
import { pageFields } from "../domain/Query.js"
import { OauthGrant } from "./OauthGrant.js"

export class OauthGrantsApi extends HttpApiGroup.make("oauthGrants")
  .add(
    read("list", "/api/oauth-grants", "List the apps that have access to the account", "admin")
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("OauthGrantList", OauthGrant))
      .annotateContext(extension)
  )
  .add(
    remove("revoke", "/api/oauth-grants/:oauth_grant_id", "End the access of an app at once", "admin")
      .setPath(idPath("oauth_grant_id"))
      .addSuccess(OauthGrant)
      .annotateContext(extension)
  ) {}
