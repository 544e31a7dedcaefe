import { assert, describe, it } from "@effect/vitest"
import { forgeHost as hostOf, isHome, mayReceive, repositoryOn } from "@reins/machine/forge/ForgeHost"
import { gitea } from "@reins/machine/forge/Gitea"
import { gitHub } from "@reins/machine/forge/GitHub"
import { gitLab } from "@reins/machine/forge/GitLab"

const forges = { github: gitHub, gitlab: gitLab, gitea }
const forgeHost = (kind: keyof typeof forges, baseUrl?: string) => hostOf(forges[kind], baseUrl)

describe("where a forge is", () => {
  it("its API follows from its web address or from its API's own", () => {
    const apiOf = (...given: Parameters<typeof forgeHost>) => forgeHost(...given).api
    assert.strictEqual(apiOf("github", undefined), "https://api.github.com")
    assert.strictEqual(apiOf("github", "https://github.com/"), "https://api.github.com")
    assert.strictEqual(apiOf("github", "https://api.github.com"), "https://api.github.com")
    assert.strictEqual(apiOf("github", "https://acme.ghe.com"), "https://api.acme.ghe.com")
    assert.strictEqual(apiOf("github", "https://git.acme.com/"), "https://git.acme.com/api/v3")
    assert.strictEqual(apiOf("github", "https://git.acme.com/api/v3/"), "https://git.acme.com/api/v3")
    assert.strictEqual(apiOf("gitlab", undefined), "https://gitlab.com/api/v4")
    assert.strictEqual(apiOf("gitlab", "https://acme.com/gitlab/api/v4"), "https://acme.com/gitlab/api/v4")
    assert.strictEqual(apiOf("gitea", "http://127.0.0.1:3000"), "http://127.0.0.1:3000/api/v1")
  })
})

describe("the repository of a URL", () => {
  it("is found by https and by both forms of SSH, on its own host only", () => {
    const github = forgeHost("github")
    for (const url of [
      "https://github.com/acme/shop",
      "https://github.com/acme/shop.git",
      "https://GitHub.com/acme/shop.git/",
      "https://ann@github.com/acme/shop.git",
      "git@github.com:acme/shop.git",
      "ssh://git@github.com:22/acme/shop.git"
    ]) {
      assert.strictEqual(repositoryOn(github, url), "acme/shop", url)
    }
    for (const url of [
      "https://github.com.evil.example/acme/shop",
      "https://evil.example/github.com/acme/shop",
      "https://github.com@evil.example/acme/shop",
      "https://github.com:8443/acme/shop",
      "http://github.com/acme/shop",
      "git@evil.example:acme/shop.git",
      "github.com@evil.example:acme/shop.git",
      "https://github.com/acme",
      "https://github.com/acme/shop/tree/main",
      "https://github.com/acme/%2e%2e%2fshop",
      "git@github.com:../shop.git",
      "/srv/git/acme/shop.git",
      "file:///srv/acme/shop.git"
    ]) {
      assert.isUndefined(repositoryOn(github, url), url)
    }
  })

  it("may lie in groups on GitLab, and below a path where the forge does", () => {
    const below = forgeHost("gitlab", "https://acme.com/gitlab")
    assert.strictEqual(repositoryOn(below, "https://acme.com/gitlab/a/b/c.git"), "a/b/c")
    assert.strictEqual(repositoryOn(below, "git@acme.com:a/b/c.git"), "a/b/c")
    assert.isUndefined(repositoryOn(below, "https://acme.com/gitlabs/a/b"))
    assert.isUndefined(repositoryOn(below, "https://acme.com/a/b"))
    assert.isUndefined(repositoryOn(forgeHost("gitea", "https://acme.com"), "https://acme.com/a/b/c.git"))
  })
})

describe("a credential of plain git", () => {
  it("is sent to the origin that it names, and nowhere without one", () => {
    const home = "https://git.example"
    for (const url of ["https://git.example/a/b.git", "https://GIT.example:443/a", "https://ann@git.example/a"])
      assert.isTrue(isHome(home, url), url)
    for (const url of [
      "http://git.example/a/b.git",
      "https://git.example:8443/a/b.git",
      "https://git.example.evil.example/a",
      "https://evil.example/git.example/a",
      "https://sub.git.example/a",
      "ssh://git.example/a",
      "git@git.example:a/b",
      "/git.example/a",
      "file:///git.example/a",
      "nonsense"
    ])
      assert.isFalse(isHome(home, url), url)
    assert.isTrue(isHome("https://git.example:8443", "https://git.example:8443/a"))
    assert.isTrue(isHome("ssh://git.example", "git@git.example:a/b"))
    assert.isTrue(isHome("ssh://git.example:2222", "ssh://git@GIT.example:2222/a/b"))
    assert.isFalse(isHome("ssh://git.example:2222", "git@git.example:a/b"))
    for (const url of ["https://git.example/a", "git@git.example:a", "/a"]) assert.isFalse(isHome(undefined, url))
  })
})

describe("a token", () => {
  it("is sent by git to the host of its connection only", () => {
    const host = forgeHost("gitea", "https://git.acme.com")
    assert.isTrue(mayReceive(host, "https://git.acme.com/acme/shop.git"))
    assert.isTrue(mayReceive(host, "git@git.acme.com:acme/shop.git"))
    assert.isFalse(mayReceive(host, "https://evil.example/acme/shop.git"))
    assert.isFalse(mayReceive(host, "http://git.acme.com/acme/shop.git"))
    assert.isFalse(mayReceive(host, "https://git.acme.com:8443/acme/shop.git"))
  })
})
