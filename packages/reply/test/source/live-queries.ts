import { describe, expect, test } from 'vitest'
import { answerOf, type ReplyStream, textOf, toolsOf } from '../../src/index.ts'
import type { Stage } from '../drive/server.ts'

/** What can be looked up and changed outside of a run, on a real server. */
export function testQueries(stage: () => Stage): void {
  const prompt = (name: string, more: object = {}): ReplyStream =>
    stage().opencode.prompt({ text: `Go. [scenario:${name}]`, ...more })

  describe('what a connection looks up', () => {
    test('a reply that settled while this program was away', async () => {
      const live = await prompt('plain').result
      const later = stage().open()
      await later.ready
      const read = await later.reply(live.sessionID)
      expect(read).toMatchObject({ phase: 'settled', outcome: 'completed', prompt: live.prompt, model: live.model })
      expect([textOf(read ?? live), read?.promptIDs]).toEqual([textOf(live), live.promptIDs])
      expect(read?.usage).toMatchObject({ steps: live.usage.steps, output: live.usage.output })
      expect(read?.settledAt).toBe(live.messages.at(-1)?.completedAt)
    })

    test('a reply that is still open, which stays the one that is observed', async () => {
      const stream = prompt('forever')
      for await (const _ of stream) if (stream.reply && textOf(stream.reply) !== '') break
      const { sessionID = '' } = stream.reply ?? {}
      expect(await stage().opencode.reply(sessionID)).toBe(stream.reply)
      await stream.abort()
    })

    test('no reply in a session with only a note, and gone for an unknown one', async () => {
      const { sessionID } = await prompt('plain', { noReply: true }).result
      const later = stage().open()
      expect(await later.reply(sessionID)).toBeUndefined()
      const { promptIDs } = await prompt('plain', { sessionID }).result
      await prompt('plain', { sessionID, noReply: true }).result
      const last = await stage().open().reply(sessionID)
      expect(textOf(last ?? expect.fail('A run is there.'))).toBe('Hello there.')
      await later.revert(sessionID, promptIDs[0] ?? '')
      expect(await stage().open().reply(sessionID)).toBeUndefined()
      const unknown = stage().opencode.reply('ses_0000000000000000000000000')
      await expect(unknown).rejects.toMatchObject({ type: 'gone' })
    })

    test('the sessions of a directory, newest first', async () => {
      const first = await prompt('plain', { title: 'First' }).result
      const second = await prompt('plain', { title: 'Second' }).result
      const { directory } = stage().server
      const listed = await stage().opencode.sessions({ directory: `${directory}/` })
      expect(listed.slice(0, 2).map((session) => session.sessionID)).toEqual([second.sessionID, first.sessionID])
      expect(listed[0]).toMatchObject({ directory, title: 'Second' })
      expect(listed.every((session) => session.parentID === undefined)).toBe(true)
      const ids = (await stage().opencode.sessions()).map((session) => session.sessionID)
      expect(ids).toEqual(expect.arrayContaining([first.sessionID, second.sessionID]))
    })

    test('a failed run as it failed here', async () => {
      const model = { providerID: 'fake', modelID: 'none' }
      const failed = await prompt('plain', { model }).result
      expect([failed.outcome, (await stage().opencode.reply(failed.sessionID))?.outcome]).toEqual(['failed', 'failed'])
      expect(await failed.error?.message).not.toBe('')
    })

    test('models, agents and commands', async () => {
      const { opencode } = stage()
      expect(await opencode.models()).toContainEqual({
        providerID: 'fake',
        modelID: 'm1',
        name: 'M1',
        contextLimit: 200_000,
        takes: expect.arrayContaining(['text']),
        variants: expect.any(Array),
      })
      const agents = await opencode.agents()
      expect(agents.find(({ name }) => name === 'build')).toMatchObject({ isPrimary: true })
      expect(agents.find(({ name }) => name === 'general')).toMatchObject({ isPrimary: false })
      expect(await opencode.commands()).toContainEqual({
        ...{ name: 'greet', description: 'Greets' },
        template: 'Greet $ARGUMENTS. [scenario:plain]',
      })
    })

    test('a fork, a revert that is taken back, and a summary', async () => {
      const { opencode } = stage()
      const { sessionID, promptIDs } = await prompt('plain').result
      const fork = await opencode.fork(sessionID)
      expect(fork.sessionID).not.toBe(sessionID)
      expect(textOf((await opencode.reply(fork.sessionID)) ?? expect.fail('The fork has no run.'))).toBe('Hello there.')
      await opencode.revert(sessionID, promptIDs[0] ?? '')
      await opencode.unrevert(sessionID)
      const again = await prompt('plain', { sessionID }).result
      expect(again.promptIDs).not.toEqual(promptIDs)
      await opencode.compact(sessionID)
      expect((await prompt('plain', { sessionID }).result).outcome).toBe('completed')
    })
  })

  describe('a prompt', () => {
    test('gives its text in pieces that make the whole', async () => {
      const stream = prompt('plain')
      const pieces: string[] = []
      for await (const piece of stream.text) pieces.push(piece)
      expect(pieces.join('')).toBe(textOf(await stream.result))
      expect(pieces.join('')).toBe('Hello there.')
    })

    test('with a format gives the parsed value', async () => {
      const schema = { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] }
      const stream = prompt('structured', { format: { type: 'json_schema', schema } })
      expect(await stream.output).toEqual({ count: 3 })
      expect((await stream.result).outcome).toBe('completed')
      expect(await prompt('plain').output).toBeUndefined()
    })

    test('takes tools away from the model', async () => {
      const reply = await prompt('permission', { tools: { bash: false } }).result
      expect(toolsOf(reply)[0]?.state.input).toMatchObject({ error: expect.stringContaining('unavailable tool') })
      expect([reply.asks, answerOf(reply)]).toEqual([[], 'Done so.'])
    })
  })
}
