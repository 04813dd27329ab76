import {
  callTool,
  launchOpencode,
  type OpencodeServer,
  openCode2Password,
  type ScriptedModel,
  sayText,
  startModel,
} from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Change, type Client, connect, type Reply, type ReplyStream, textOf } from '../../src/index.ts'

/** How far the run of the client at the desk is when the server gets the other prompt, which was posted before it. */
const moments: Readonly<Record<string, (theirs: ReplyStream) => Promise<unknown>>> = {
  'has been taken': async (theirs) => await expect.poll(() => theirs.reply?.promptIDs.length).toBe(1),
  'has its text': async (theirs) => await nextOf(theirs, 'partFinalized'),
  'has ended': async (theirs) => await theirs.result,
}

/** Has a prompt of one client overtaken by another's in each way. The first ones are repeated. */
export function testOvertaken(version: string, { rounds }: { readonly rounds: number }): void {
  describe(`on ${version}, a prompt that another client overtakes`, () => {
    let model: ScriptedModel
    let server: OpencodeServer
    let desk: Client
    let own: Client
    let whilePosting: () => Promise<unknown> = async () => undefined
    beforeAll(async () => {
      const answers = ['mine', 'theirs'].map((name) => [name, { steps: [[sayText(answerTo(name))]] }])
      const asking = { steps: [[callTool('bash', { command: 'touch it', description: 'Touch' })]] }
      const generation = isOpenCode2(version) ? 2 : 1
      const scripts = { ...Object.fromEntries(answers), asking }
      model = await startModel({ scripts, fallback: 'mine', generation })
      const permission = { bash: { '*': 'allow', 'touch *': 'ask' } } as const
      const extra = generation === 1 ? { snapshot: false } : {}
      server = await launchOpencode({ model, version, config: { permission, extra } })
      const { url, directory } = server
      const place = { url, directory, ...(generation === 2 && { password: openCode2Password }) }
      desk = connect(place)
      own = connect({
        ...place,
        fetch: async (input, init) => {
          const request = new Request(input, init)
          if (request.method === 'POST' && /\/prompt(_async)?$/.test(new URL(request.url).pathname))
            await whilePosting()
          return await fetch(request)
        },
      })
      await Promise.all([desk.ready, own.ready])
    })
    afterAll(async () => {
      await Promise.all([desk?.close(), own?.close()])
      await server?.stop()
      await model?.close()
    })

    test.each(Object.keys(moments))('when its run %s gets its own answer', { timeout: 120_000 }, async (moment) => {
      for (let round = 0; round < rounds; round++) {
        whilePosting = async () => undefined
        const { sessionID } = await own.prompt({ text: '[scenario:mine]' }).result
        let theirs: ReplyStream | undefined
        whilePosting = async () => {
          // A prompt that is posted again is not overtaken again.
          if (theirs) return
          theirs = desk.prompt({ sessionID, text: '[scenario:theirs]' })
          await moments[moment]?.(theirs)
        }
        const seen: Change[] = []
        const mine = own.prompt({ sessionID, text: '[scenario:mine]' })
        for await (const change of mine) seen.push(change)
        const reply = await mine.result
        if (version === '1.1.65' && isNeverRun(reply)) continue
        expect(reply.outcome).toBe('completed')
        expect((await theirs?.result)?.outcome).toBe('completed')
        // Prompts that are answered together get one answer, of either script.
        if (mine.joined) expect(reply.promptIDs).toHaveLength(2)
        else {
          expect(textOf(reply)).toBe(answerTo('mine'))
          // On 1.1.65, what was read at the end of the other run may be seen for a moment, until it is removed again.
          if (version !== '1.1.65') expect(JSON.stringify(seen)).not.toContain('theirs')
        }
        if (moment === 'has ended') expect(mine.joined).toBe(false)
      }
    })

    test('and that joins a run whose request the desk rejects gets its own answer', { timeout: 60_000 }, async () => {
      whilePosting = async () => undefined
      const { sessionID } = await own.prompt({ text: '[scenario:mine]' }).result
      const theirs = desk.prompt({ sessionID, text: '[scenario:asking]' })
      const asked = await nextOf(theirs, 'permissionAsked')
      if (asked?.type !== 'permissionAsked') throw new Error('Nothing was asked.')
      const mine = own.prompt({ sessionID, text: '[scenario:mine]' })
      // OpenCode 2 keeps it in its queue.
      if (!isOpenCode2(version)) await expect.poll(() => theirs.reply?.promptIDs.length).toBe(2)
      await desk.reject(asked.ask)
      expect((await theirs.result).outcome).toBe('stopped')
      const reply = await mine.result
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', answerTo('mine')])
    })

    test('and that the desk stops at its beginning ends as aborted', { timeout: 120_000 }, async () => {
      whilePosting = async () => undefined
      const { sessionID } = await own.prompt({ text: '[scenario:mine]' }).result
      const { url, directory } = server
      const outcomes: (string | undefined)[] = []
      for (let round = 0; round < 6; round++) {
        const mine = own.prompt({ sessionID, text: '[scenario:mine]' })
        await expect.poll(() => mine.reply?.promptIDs.length, { interval: 1 }).toBe(1)
        // At once, because the client at the desk would first look for requests.
        const query = new URLSearchParams({ directory })
        if (isOpenCode2(version)) await desk.abort(sessionID)
        else await fetch(`${url}/session/${sessionID}/abort?${query}`, { method: 'POST' })
        const reply = await mine.result
        outcomes.push(reply.outcome)
        // The stop came before the run, or after it.
        if (reply.outcome === 'completed') expect(textOf(reply)).toBe(answerTo('mine'))
        else expect(reply.outcome).toBe('aborted')
      }
      if (version === '1.18.34') expect(outcomes).toContain('aborted')
    })
  })
}

/**
 * Whether the prompt was refused. 1.1.65 never runs a prompt that it stores between the moment when a step reads the prompts and
 * that when it stores the step's message: that has the higher id (15 of 80 tries, 0 to 12 ms after the other prompt).
 */
export function isNeverRun(reply: Reply): boolean {
  return reply.outcome === 'failed' && reply.error?.name === 'refused' && textOf(reply) === ''
}

export function answerTo(name: string): string {
  return `Answer to ${name}.`
}

/** Resolves with the stream's next change of this type. */
export async function nextOf(stream: ReplyStream, type: Change['type']): Promise<Change | undefined> {
  for await (const change of stream.filter([type])) return change
  return undefined
}
