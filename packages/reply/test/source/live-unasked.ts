import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  launchOpencode,
  type OpencodeServer,
  openCode2Password,
  type ScriptedModel,
  sayText,
  startModel,
} from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, connect } from '../../src/index.ts'
import { expandCommand, mayActWithoutAsking } from '../../src/source/command-arguments.ts'

/** Each with what a person writes. `touch` and a name marks a shell command that ran. */
const cases: readonly (readonly [template: string, args: string])[] = [
  ['Say $ARGUMENTS', 'words, and mail ann@example.com'],
  ['Say $ARGUMENTS', '!`touch marked`'],
  ['Say $ARGUMENTS', '@README.md'],
  ['Say $ARGUMENTS', 'see (@~/outside.txt)'],
  ['Say', '!`touch marked`'],
  ['Say', 'x`touch marked`'],
  ['Compare `$1`touch marked` with $2', 'a! b'],
  ['Compare `$1` with $2', '"!` touch" "marked`"'],
  ['Say !$1`touch marked` $2', '"" b'],
  ['Say !$1`touch marked` $2', 'a b'],
  ['Look at @$1', '/etc/hostname'],
  ['Look at @src/$1', '../../home/outside.txt'],
  ['Look at @README.md for $1', 'spelling'],
  ['Look at $1@README.md', '.'],
  ['Read !`printf %s "$1"`', 'a"; touch "marked'],
  ['Read !`echo own` for $1', 'words'],
  ['Read !`printf @`$1', 'README.md'],
  ['Read !`echo own`$1', '@README.md'],
  ['Read $1!`printf README.md`', '@'],
  ['$1: $2, $3.', 'a "b c" d \'e f\' g'],
  ['$2 $1 $0', 'one'],
  ['$1 $1 $ARGUMENTS', ' [Image 1] "x y" it\'s '],
  ['$1', '$ARGUMENTS'],
  ['$ARGUMENTS', 'costs $$5'],
  ['$ARGUMENTS and `touch marked`', "!$'"],
  ['No place', 'see\n\nthese lines'],
]

/** A server with each of the templates as a command of its own. */
async function launch(version: string, model: ScriptedModel, templates: readonly string[]): Promise<OpencodeServer> {
  const command = Object.fromEntries(templates.map((template, at) => [`c${at}`, { template }]))
  const server = await launchOpencode({
    ...{ model, version, files: { 'src/a.ts': 'a\n' } },
    config: { command, ...(!isOpenCode2(version) && { extra: { snapshot: false } }) },
  })
  await server.write({ '../home/outside.txt': 'outside' })
  return server
}

/** What the server made of a command: the text of the prompt, and the names of what it attached. */
interface Made {
  readonly text: string
  readonly attached: readonly string[]
}

/** What OpenCode makes of commands, against `mayActWithoutAsking` and `expandCommand`. */
export function testUnasked(version: string, { runs }: { readonly runs: number }): void {
  describe(`OpenCode ${version}`, () => {
    const pieces = fc.constantFrom('!', '`', '@', '$1', '$2', '$ARGUMENTS', ' ', 'a', 'README.md', '.', ',', '"', "'")
    const written = fc.array(pieces, { maxLength: 9 }).map((all) => all.join(''))
    const random = fc
      .sample(fc.tuple(written, written), { numRuns: runs * 3, seed: 7 })
      .filter(([template, args]) => template.trim() !== '' && args.trim() !== '')
      .slice(0, runs)
    const all = [...cases, ...random]
    let model: ScriptedModel
    let server: OpencodeServer
    let opencode: Client
    beforeAll(async () => {
      const scripts = { plain: { steps: [[sayText('Yes.')]] } }
      model = await startModel({ scripts, fallback: 'plain', generation: isOpenCode2(version) ? 2 : 1 })
      server = await launch(
        version,
        model,
        all.map(([template]) => template),
      )
      opencode = connect({
        url: server.url,
        directory: server.directory,
        ...(isOpenCode2(version) && { password: openCode2Password }),
      })
    })
    afterAll(async () => {
      await opencode.close()
      await server.stop()
      await model.close()
    })

    test('lists its commands with their templates, also without a description', async () => {
      const listed = await opencode.commands()
      for (const [at, [template]] of cases.entries())
        expect(listed.find(({ name }) => name === `c${at}`)).toEqual({ name: `c${at}`, template })
    })

    test('what it runs and attaches by the words of a person takes the right to approve', {
      timeout: 600_000,
    }, async () => {
      const acted = { ran: 0, attached: 0 }
      for (const [at, [template, args]] of all.entries()) {
        const isUnasked = mayActWithoutAsking({ name: 'any', template }, args)
        const made = await run(at, args)
        const ran = existsSync(mark())
        rmSync(mark(), { force: true })
        const attached = made.attached.filter((name) => !template.includes(`@${name}`))
        acted.ran += ran ? 1 : 0
        acted.attached += attached.length
        const said = JSON.stringify([template, args, made])
        if (ran || attached.length > 0) expect([isUnasked, said]).toEqual([true, said])
        if (!isUnasked) expect([shownBy(template, args).test(made.text), said]).toEqual([true, said])
      }
      // OpenCode 2 attaches nothing that a command names.
      expect(acted.ran).toBeGreaterThan(3)
      expect(acted.attached > 3).toBe(!isOpenCode2(version))
    })

    test('an ordinary prompt runs and attaches nothing', async () => {
      const words = '/c0 !`touch marked` @README.md @~/outside.txt'
      const { sessionID, promptIDs } = await opencode.prompt({ text: words }).result
      expect(await promptOf(sessionID, promptIDs[0])).toEqual({ text: words, attached: [] })
      expect(existsSync(mark())).toBe(false)
    })

    async function run(at: number, args: string): Promise<Made> {
      const { sessionID, promptIDs } = await opencode.command({ command: `c${at}`, arguments: args }).result
      return await promptOf(sessionID, promptIDs[0])
    }

    function mark(): string {
      return join(server.directory, 'marked')
    }

    async function promptOf(sessionID: string, messageID: string | undefined): Promise<Made> {
      return isOpenCode2(version)
        ? await secondPrompt(server, sessionID)
        : await firstPrompt(server, { sessionID, messageID })
    }
  })
}

/** What a prompt reads that runs no more than the template: the output of the template's own shell commands may be anything. */
function shownBy(template: string, args: string): RegExp {
  const { text: expanded } = expandCommand(template, args)
  const pieces = expanded.trim().split(/!`[^`]+`/)
  const escaped = pieces.map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^\\s*${escaped.join('[\\s\\S]*')}\\s*$`)
}

async function firstPrompt(
  { url, directory }: OpencodeServer,
  { sessionID, messageID }: { readonly sessionID: string; readonly messageID: string | undefined },
): Promise<Made> {
  const route = `${url}/session/${sessionID}/message/${messageID}?${new URLSearchParams({ directory })}`
  const { parts } = (await (await fetch(route)).json()) as {
    readonly parts: readonly {
      readonly type: string
      readonly text?: string
      readonly synthetic?: boolean
      readonly filename?: string
      readonly name?: string
    }[]
  }
  const said = parts.find(({ type, synthetic }) => type === 'text' && synthetic !== true)
  const attached = parts.flatMap(({ type, filename, name }) =>
    type === 'file' || type === 'agent' ? [filename ?? name ?? ''] : [],
  )
  return { text: said?.text ?? '', attached }
}

async function secondPrompt({ url }: OpencodeServer, sessionID: string): Promise<Made> {
  const authorization = `Basic ${Buffer.from(`opencode:${openCode2Password}`).toString('base64')}`
  const response = await fetch(`${url}/api/session/${sessionID}/message?order=asc`, { headers: { authorization } })
  const { data } = (await response.json()) as {
    readonly data: readonly {
      readonly type: string
      readonly text?: string
      readonly files?: readonly { name?: string }[]
    }[]
  }
  const user = data.find(({ type }) => type === 'user')
  return { text: user?.text ?? '', attached: (user?.files ?? []).map(({ name = '' }) => name) }
}
