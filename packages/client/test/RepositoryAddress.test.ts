import { repositoryAddress } from "@reins/client"
import fc from "fast-check"
import { assert, describe, it } from "vitest"

describe("repositoryAddress", () => {
  const cases: ReadonlyArray<readonly [given: string, url: string, refs?: ReadonlyArray<string>, pull?: string]> = [
    ["acme/shop", "https://github.com/acme/shop"],
    ["acme/shop.js", "https://github.com/acme/shop.js"],
    ["git@github.com:acme/shop.git", "https://github.com/acme/shop.git"],
    ["deploy@git.example.com:/team/sub/shop", "https://git.example.com/team/sub/shop"],
    ["ssh://git@example.com:2222/acme/shop.git", "https://example.com/acme/shop.git"],
    ["https://github.com/acme/shop", "https://github.com/acme/shop"],
    ["https://example.com/a/b/c.git", "https://example.com/a/b/c.git"],
    ["https://github.com/acme/shop/pull/12", "https://github.com/acme/shop", [], "refs/pull/12/head"],
    ["https://github.com/acme/shop/pull/12/files#diff-1", "https://github.com/acme/shop", [], "refs/pull/12/head"],
    ["http://gitea.lan:3000/acme/shop/pulls/3", "http://gitea.lan:3000/acme/shop", [], "refs/pull/3/head"],
    ["https://gitlab.com/a/b/c/-/merge_requests/7", "https://gitlab.com/a/b/c", [], "refs/merge-requests/7/head"],
    ["https://github.com/acme/shop/tree/main", "https://github.com/acme/shop", ["main"]],
    ["https://github.com/acme/shop/tree/fix/login", "https://github.com/acme/shop", ["fix", "fix/login"]],
    ["https://github.com/acme/shop/blob/main/a.ts?plain=1", "https://github.com/acme/shop", ["main", "main/a.ts"]],
    ["https://github.com/acme/shop/commit/0123abc", "https://github.com/acme/shop", ["0123abc"]],
    ["https://gitlab.com/a/b/-/tree/v1%2B2", "https://gitlab.com/a/b", ["v1+2"]],
    ["https://codeberg.org/acme/shop/src/branch/main", "https://codeberg.org/acme/shop", ["main"]],
    ["https://github.com/acme/shop/issues/4", "https://github.com/acme/shop"]
  ]
  for (const [given, url, refs = [], pullRequest = null] of cases) {
    it(`reads ${given}`, () => {
      const { from: _, ...found } = repositoryAddress(` ${given} `) ?? assert.fail(given)
      assert.deepStrictEqual(found, { url, refs, pullRequest })
    })
  }

  it("says which form it was, and leaves paths alone", () => {
    assert.deepStrictEqual(
      ["acme/shop", "git@h.com:a/b", "https://h.com/a/b/pull/1", "https://h.com/a/b"].map(
        (given) => repositoryAddress(given)?.from
      ),
      ["name", "ssh", "link", "url"]
    )
    for (const path of [".", "..", "./a/b", "../a", "a/..", "/srv/git/shop.git", "~/shop", "a/b/c", "file:///srv/a"])
      assert.isUndefined(repositoryAddress(path), path)
  })

  it("reads every text without a failure, and its own addresses as they are", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl()), (given) => {
        const found = repositoryAddress(given)
        if (found === undefined || found.from === "ssh") return
        assert.strictEqual(repositoryAddress(found.url)?.url, found.url)
      })
    )
  })
})
