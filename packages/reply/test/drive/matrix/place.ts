import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { startProxy } from '@reply/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Ask, type Client, type ConnectOptions, type Reply, type ReplyStream, textOf } from '../../../src/index.ts'
import { eventually, within } from '../patience.ts'
import { openStage, type Stage } from '../server.ts'

/** How else the directory `other` can be written, below the server's folder. 1.1 does not follow links. */
export const spellingsOn = (version: string): readonly string[] => [
  'other/',
  'project/../other',
  './other',
  ...(version.startsWith('1.1.') ? [] : ['link', 'link/']),
]

/** On a server of its own. */
export function testPlaces(version: string): void {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage({ version })
  })
  afterAll(async () => await stage?.close())
  testPlacesOn(() => stage, { version, spellings: spellingsOn(version) })
}

/** A client of another directory than the one that the server was started in, and sessions of either. */
export function testPlacesOn(
  stageNow: () => Stage,
  { version, spellings }: { readonly version: string; readonly spellings: readonly string[] },
): void {
  let stage: Stage
  let other: string
  const opened: Client[] = []

  beforeAll(async () => {
    stage = stageNow()
    other = await makeProject(stage, 'other')
    await symlink(other, join(stage.server.root, 'link'))
  })
  beforeEach(async () => {
    for (const opencode of opened.splice(0)) await opencode.close()
    for (const directory of [stage.server.directory, other]) await rm(join(directory, 'asked-for.txt'), { force: true })
  })

  function open(options: Partial<ConnectOptions> = {}): Client {
    const opencode = stage.open({ directory: other, backOff: { minMs: 20, maxMs: 100 }, ...options })
    opened.push(opencode)
    return opencode
  }

  /** A session of the other directory that this client has not heard of. */
  async function session(): Promise<string> {
    const query = new URLSearchParams({ directory: other })
    const response = await fetch(`${stage.server.url}/session?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    const { id } = (await response.json()) as { readonly id: string }
    return id
  }

  async function statuses(directory: string): Promise<readonly string[]> {
    const response = await fetch(`${stage.server.url}/session/status?${new URLSearchParams({ directory })}`)
    return Object.keys((await response.json()) as object)
  }

  const ranIn = (directory: string): boolean => existsSync(join(directory, 'asked-for.txt'))

  describe(`OpenCode ${version}, started in another directory`, () => {
    test('a prompt, its tools and its asks are in the directory of the client', async () => {
      const opencode = open()
      const stream = opencode.prompt({ text: '[scenario:permission]' })
      const ask = await firstAsk(stream)
      expect(ask).toMatchObject({ directory: other, sessionID: stream.reply?.sessionID })
      await opencode.answer(ask, 'once')
      const reply = await settled(stream)
      expect(reply).toMatchObject({ outcome: 'completed', directory: other })
      expect([ranIn(other), ranIn(stage.server.directory)]).toEqual([true, false])
    })

    test('a question takes its answer', async () => {
      const opencode = open()
      const stream = opencode.prompt({ text: '[scenario:question]' })
      await opencode.answer(await firstAsk(stream), [['Red']])
      const reply = await settled(stream)
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'As you like.'])
    })

    test("a sub-agent's permission takes its rejection", async () => {
      const opencode = open()
      const stream = opencode.prompt({ text: '[scenario:child]' })
      const ask = await firstAsk(stream)
      expect(ask).toMatchObject({ directory: other, path: [stream.reply?.sessionID, ask.sessionID] })
      await opencode.reject(ask)
      await settled(stream)
      expect(ranIn(other)).toBe(false)
    })

    test('an existing session of another directory runs where it is', async () => {
      const sessionID = await session()
      const opencode = open({ directory: stage.server.directory })
      const stream = opencode.prompt({ sessionID, text: '[scenario:permission]' })
      const ask = await firstAsk(stream)
      expect(ask.directory).toBe(other)
      await opencode.answer(ask, 'once')
      expect(await settled(stream)).toMatchObject({ outcome: 'completed', directory: other })
      expect([ranIn(other), ranIn(stage.server.directory)]).toEqual([true, false])
    })

    test('an abort ends the run on the server', async () => {
      const stream = open().prompt({ text: '[scenario:forever]' })
      await until(stream, (reply) => textOf(reply) !== '')
      expect(await statuses(other)).toContain(stream.reply?.sessionID)
      expect(await within(60_000, stream.abort(), () => 'not aborted')).toMatchObject({ outcome: 'aborted' })
      expect(await statuses(other)).toEqual([])
    })

    test('what a lost connection missed is read again', async () => {
      const proxy = await startProxy({ target: stage.server.url })
      const stream = open({ url: proxy.url }).prompt({ text: '[scenario:gap]' })
      await until(stream, (reply) => textOf(reply) === 'One ')
      await proxy.refuse()
      stage.model.release('gap')
      await eventually(60_000, async () => ((await statuses(other)).length === 0 ? true : undefined))
      await proxy.resume()
      const reply = await settled(stream)
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'One two.'])
      for (const opencode of opened.splice(0)) await opencode.close()
      await proxy.close()
    })

    test('a session is watched by its id alone, also when it is at work already', async () => {
      const sessionID = await session()
      const stream = open().prompt({ sessionID, text: '[scenario:forever]' })
      await until(stream, (reply) => textOf(reply) !== '')
      const watcher = open({ directory: undefined })
      await watcher.ready
      const seen = watched(watcher, { sessionID })
      await eventually(60_000, async () => (seen[0]?.phase === 'working' ? true : undefined))
      await stream.abort()
      await eventually(60_000, async () => (seen.at(-1)?.phase === 'settled' ? true : undefined))
      expect(seen.at(-1)).toMatchObject({ sessionID, directory: other, phase: 'settled' })
    })

    test.each(spellings)('a directory is watched and prompted in by another spelling: %s', async (spelling) => {
      const directory = `${stage.server.root}/${spelling}`
      const watcher = open({ directory: stage.server.directory })
      await watcher.ready
      const byOther = watched(watcher, { directory })
      const byExact = watched(watcher, { directory: other })
      const elsewhere = watched(watcher, { directory: stage.server.directory })
      const early = open({ directory: undefined })
      const fromTheBeginning = watched(early, { directory })
      await early.ready
      const reply = await settled(open({ directory }).prompt({ text: '[scenario:plain]' }))
      expect(reply).toMatchObject({ outcome: 'completed', directory: other })
      for (const seen of [byOther, byExact, fromTheBeginning])
        await eventually(60_000, async () =>
          seen.some((each) => each.sessionID === reply.sessionID) ? true : undefined,
        )
      expect(elsewhere).toEqual([])
    })

    test('a run that came and went in a gap is found, wherever it was', async () => {
      const proxy = await startProxy({ target: stage.server.url })
      const watcher = open({ url: proxy.url, directory: version.startsWith('1.1.') ? other : undefined })
      const seen = watched(watcher, {})
      await watcher.ready
      // The newest that was heard marks the beginning of the gap.
      await settled(open({ directory: stage.server.directory }).prompt({ text: '[scenario:plain]' }))
      await eventually(60_000, async () => (seen.length === 1 && seen[0]?.phase === 'settled' ? true : undefined))
      await proxy.refuse()
      const { sessionID } = await settled(open().prompt({ text: '[scenario:plain]' }))
      await proxy.resume()
      await eventually(60_000, async () => (seen.some((each) => each.sessionID === sessionID) ? true : undefined))
      for (const opencode of opened.splice(0)) await opencode.close()
      await proxy.close()
    })
  })
}

/** A second project, with the configuration of the first. */
async function makeProject({ server }: Stage, name: string): Promise<string> {
  const directory = join(server.root, name)
  await mkdir(directory)
  await copyFile(join(server.directory, 'opencode.json'), join(directory, 'opencode.json'))
  const git = (...args: string[]) => execFileSync('git', args, { cwd: directory, stdio: 'ignore' })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('-c', 'user.name=reply', '-c', 'user.email=reply@example.invalid', 'commit', '-q', '-m', 'Begin')
  return directory
}

async function firstAsk(stream: ReplyStream): Promise<Ask> {
  return await within(60_000, ask(), () => `no ask: ${JSON.stringify(stream.reply?.error ?? stream.reply?.phase)}`)

  async function ask(): Promise<Ask> {
    for await (const change of stream.filter(['questionAsked', 'permissionAsked'])) return change.ask
    throw new Error(`The reply settled without an ask: ${stream.reply?.outcome} ${stream.reply?.error?.message}`)
  }
}

async function settled(stream: ReplyStream): Promise<Reply> {
  return await within(60_000, stream.result, () => `it is ${stream.reply?.phase}`)
}

async function until(stream: ReplyStream, isThere: (reply: Reply) => boolean): Promise<void> {
  for await (const _ of stream) if (stream.reply && isThere(stream.reply)) return
  throw new Error(`The reply settled before that: ${stream.reply?.outcome} ${stream.reply?.error?.message}`)
}

/** The newest state of each reply that a watch tells of. */
function watched(opencode: Client, target: Parameters<Client['watch']>[0]): readonly Reply[] {
  const seen: Reply[] = []
  opencode.watch(target, {
    observe: (first) => {
      const index = seen.push(first) - 1
      const keep = ({ reply }: { readonly reply: Reply }): void => {
        seen[index] = reply
      }
      return [{ partChanged: keep, messageUpdated: keep, replySettled: keep, replyAmended: keep }]
    },
  })
  return seen
}
