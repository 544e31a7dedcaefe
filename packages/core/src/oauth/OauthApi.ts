import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, read, remove } from "@reins/base/domain/Endpoint"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
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
