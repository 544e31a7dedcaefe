import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, post, read, remove, withStatus } from "@reins/base/domain/Endpoint"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { SigningKey } from "./SigningKey.js"

const workspace = idPath("workspace_id")

export class SigningKeysApi extends HttpApiGroup.make("signingKeys")
  .add(
    read("list", "/api/workspaces/:workspace_id/signing-keys", "List the signing keys of a workspace", "admin")
      .setPath(workspace)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("SigningKeyList", SigningKey))
  )
  .add(
    post("create", "/api/workspaces/:workspace_id/signing-keys", "Make a key that signs commits", "admin")
      .setPath(workspace)
      .addSuccess(withStatus(SigningKey, 201))
  )
  .add(
    remove("remove", "/api/signing-keys/:signing_key_id", "Destroy a signing key", "admin")
      .setPath(idPath("signing_key_id"))
      .addSuccess(SigningKey)
  )
  .annotateEndpointsContext(extension) {}
