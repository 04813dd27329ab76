import { setTimeout as pause } from 'node:timers/promises'
import { isOpenCode2 } from '@reply/testing/internal'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Client, textOf } from '../../src/index.ts'
import { openStage, type Stage } from './server.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

/** What becomes of the request of a prompt, before the server is killed. */
type Fate = 'stored' | 'unheard'

/** Kills a real server around the post of a prompt, and so many milliseconds after it, while the process that posted it lives on. */
export function testKilledServer(version: string, delaysMs: readonly number[] = [0, 5, 20, 60, 90]): void {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage({ version })
  })
  afterAll(async () => await stage.close())

  describe(`a server ${version} that is killed`, () => {
    // OpenCode 2 stores no prompt without running it.
    test.skipIf(isOpenCode2(version)).each([
      ['before it ran what it has stored', 'stored', true],
      ['before it ran what it has stored, and before it answered', 'stored', false],
      ['before it stored what it has accepted', 'unheard', true],
    ] as const)('%s runs the prompt once after its start', async (_, fate, isAnswered) => {
      const words = unique()
      const opencode = openKilling(fate, isAnswered)
      const stream = opencode.prompt({ text: words })
      const reply = await stream.result
      expect([reply.outcome, reply.error?.message, textOf(reply)]).toEqual(['completed', undefined, 'Hello there.'])
      expect(timesAsked(words)).toEqual([1])
      expect(await timesStored(opencode, reply.sessionID, words)).toBe(1)
    })

    test.skipIf(isOpenCode2(version))('in a session with earlier messages does the same', async () => {
      const { sessionID } = await stage.opencode.prompt({ text: unique() }).result
      const words = unique()
      const opencode = openKilling('stored', true)
      const reply = await opencode.prompt({ text: words, sessionID }).result
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello there.'])
      expect(timesAsked(words)).toEqual([1])
      expect(await timesStored(opencode, sessionID, words)).toBe(1)
    })

    test.each(delaysMs)('%d ms after the post began leaves no prompt that never ran', async (ms) => {
      const words = unique()
      let isFirst = true
      const opencode = stage.open({
        fetch: async (url, init) => {
          const request = new Request(url, init)
          const answer = fetch(request)
          if (isPrompt(request) && isFirst) {
            isFirst = false
            restarted = pause(ms).then(stage.server.kill).then(stage.server.restart)
          }
          return await answer
        },
      })
      const reply = await opencode.prompt({ text: words }).result
      // A run that had begun may have done something, so it is not repeated.
      expect(reply.outcome, reply.error?.message).toMatch(/^(completed|lost)$/)
      for (const times of timesAsked(words)) expect(times).toBe(1)
    })
  })

  // The next test would kill a server that is still being started.
  afterEach(async () => await restarted)

  let count = 0
  let restarted: Promise<void> | undefined

  function unique(): string {
    count += 1
    return `Go, number ${count}. [scenario:plain]`
  }

  /** A client whose first prompt gets the server killed. */
  function openKilling(fate: Fate, isAnswered: boolean): Client {
    let isFirst = true
    return stage.open({
      fetch: async (url, init) => {
        const request = new Request(url, init)
        if (!isPrompt(request) || !isFirst) return await fetch(request)
        isFirst = false
        // Only stored, like a prompt for which nothing runs.
        const body: unknown = await request.json()
        const stored = new Request(request.url, {
          method: 'POST',
          headers: request.headers,
          body: JSON.stringify({ ...Object(body), noReply: true }),
        })
        if (fate === 'stored') expect((await fetch(stored)).ok).toBe(true)
        if (fate === 'stored') await untilStored(request.url, body)
        await stage.server.kill()
        restarted = stage.server.restart()
        if (!isAnswered)
          throw new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
        return new Response(null, { status: 204 })
      },
    })
  }

  async function untilStored(promptUrl: string, body: unknown): Promise<void> {
    const messages = new URL(promptUrl.replace('/prompt_async', '/message'))
    const [part] = Object(body).parts
    await expect.poll(async () => await (await fetch(messages)).text()).toContain(part.text)
  }

  /** How often the model was asked with these words as the newest, once for each prompt that has them. */
  function timesAsked(words: string): readonly number[] {
    const asked = stage.model.requests.filter(
      ({ kind, body }) => kind === 'step' && JSON.stringify(body).includes(words),
    )
    return asked.length === 0 ? [] : [asked.length]
  }

  async function timesStored(opencode: Client, sessionID: string, words: string): Promise<number> {
    const { directory } = stage.server
    await opencode.ready
    const route = `/session/${sessionID}/message?directory=${encodeURIComponent(directory)}`
    return JSON.stringify(await stage.ask(route)).split(words).length - 1
  }
}

function isPrompt(request: Request): boolean {
  return request.method === 'POST' && /\/prompt(_async)?$/.test(new URL(request.url).pathname)
}
