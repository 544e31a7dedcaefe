import { builtInForges } from "@reins/machine/forge/Forges"
import { forgeActsSuite } from "@reins/testing/forge/ForgeActsSuite"
import { forgeChecksSuite } from "@reins/testing/forge/ForgeChecksSuite"
import { dialects } from "@reins/testing/forge/ForgeDialects"
import { forgeRefusalSuite } from "@reins/testing/forge/ForgeRefusalSuite"
import { forgeRulesSuite } from "@reins/testing/forge/ForgeRulesSuite"
import type { Canned } from "@reins/testing/forge/ForgeServer"
import { forgeSuite } from "@reins/testing/forge/ForgeSuite"
import { forgeViewSuite } from "@reins/testing/forge/ForgeViewSuite"
import { assert, it } from "vitest"

const products: Readonly<Record<string, { readonly path: string; readonly notNow?: Canned }>> = {
  github: {
    path: "acme/shop",
    notNow: { status: 405, body: '{"message":"Base branch was modified. Review and try the merge again."}' }
  },
  gitlab: { path: "acme/tools/shop" },
  gitea: { path: "acme/shop", notNow: { status: 405, body: '{"message":"Please try again later"}' } }
}

for (const forge of builtInForges) {
  const product = products[forge.kind]
  const dialect = Object.entries(dialects).find(([kind]) => kind === forge.kind)?.[1]
  if (product === undefined || dialect === undefined) {
    it(`${forge.kind} has a server to be tried against`, () =>
      assert.fail(
        "give it a dialect in packages/testing/src/forge/ForgeDialects.ts and a repository in `products` of this file"
      ))
    continue
  }
  const subject = { forge, repository: product.path, dialect: dialect(product.path), ...product }
  forgeSuite(subject)
  forgeViewSuite(subject)
  forgeChecksSuite(subject)
  forgeActsSuite(subject)
  forgeRulesSuite(subject)
  forgeRefusalSuite(subject)
}
