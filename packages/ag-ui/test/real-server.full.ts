import { connect, textOf } from '@reply/core'
import {
  holdAnswer,
  launchOpencode,
  openCode2Password,
  openCode2Version,
  promptFor,
  recordedVersions,
  sayText,
  scenarios,
  startModel,
} from '@reply/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAgUiHandler } from '../src/index.ts'
import { shownText } from './peer.ts'
import { endOf, peer, serveAgent } from './stage.ts'

vi.setConfig({ testTimeout: 240_000 })

const names = [
  'write-edit',
  'permission-once',
  'permission-rejected-parallel',
  'permission-rejected-message',
  'questions-multi',
  'subagent-permission',
]
const scripts = {
  ...Object.assign({}, ...scenarios.filter(({ name }) => names.includes(name)).map((scenario) => scenario.scripts)),
  slow: { steps: [[sayText('It begins'), holdAnswer('never'), sayText(' and ends.')]] },
}

describe.each([recordedVersions[0], '1.18.34', openCode2Version])('OpenCode %s', (version) => {
  test('is shown, answered and stopped by the peer’s client', async () => {
    const model = await startModel({ scripts, generation: version === openCode2Version ? 2 : 1 })
    onTestFinished(() => model.close())
    const server = await launchOpencode({
      version,
      model,
      config: { permission: { bash: 'ask' } },
      files: { 'list.txt': 'a\nb\nc\n' },
    })
    onTestFinished(() => server.stop())
    const password = version === openCode2Version ? openCode2Password : undefined
    const client = connect({ url: server.url, directory: server.directory, password })
    onTestFinished(() => client.close())
    const sessions = new Map<string, string>()
    const handle = createAgUiHandler(client, {
      sessionOf: (_, threadId) => ({
        sessionID: sessions.get(threadId),
        onCreated: (id) => sessions.set(threadId, id),
      }),
      mayAnswer: () => true,
    })
    const url = await serveAgent(handle)

    /** Compares a page with the newest reply of its session. */
    const expectShown = async (page: ReturnType<typeof peer>, threadId: string): Promise<void> => {
      const reply = await client.reply(sessions.get(threadId) ?? '')
      expect(reply && textOf(reply)).not.toBe('')
      expect(shownText(page.agent.messages)).toContain(reply && textOf(reply))
    }

    const tools = peer(url, 'tools')
    expect(endOf(await tools.say(promptFor('write-edit')))).toBe('success')
    expect(tools.results().length).toBeGreaterThanOrEqual(3)
    await expectShown(tools, 'tools')

    const once = peer(url, 'once')
    expect(endOf(await once.say(promptFor('permission-once')))).toBe('interrupt')
    expect(once.agent.pendingInterrupts).toMatchObject([
      {
        message: expect.stringContaining('echo allowed'),
        responseSchema: { enum: expect.arrayContaining(['once', 'reject']) },
      },
    ])
    expect(endOf(await once.run({ 'echo allowed': 'once' }))).toBe('success')
    expect(once.results().join()).toContain('allowed')
    await expectShown(once, 'once')

    const both = peer(url, 'both')
    await both.say(promptFor('permission-rejected-parallel'))
    for (let runs = 0; runs < 3 && both.agent.pendingInterrupts.length > 0; runs++)
      await both.run({ 'echo one': 'once', 'echo two': 'once' })
    expect(both.results()).toHaveLength(2)
    await expectShown(both, 'both')

    const rejecting = peer(url, 'rejecting')
    await rejecting.say(promptFor('permission-rejected-message'))
    const [interrupt] = rejecting.agent.pendingInterrupts
    const metadata = { reason: 'Not now.' }
    await rejecting.agent.runAgent({
      resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: 'reject', metadata }],
    })
    const isRejected = { metadata: { reply: expect.objectContaining({ status: 'rejected' }) } }
    expect(rejecting.agent.messages).toContainEqual(expect.objectContaining(isRejected))
    await expectShown(rejecting, 'rejecting')

    const questions = peer(url, 'questions')
    expect(endOf(await questions.say(promptFor('questions-multi')))).toBe('interrupt')
    expect(endOf(await questions.run({ colour: [['Red'], ['Cheese', 'Olives'], ['Rex']] }))).toBe('success')
    await expectShown(questions, 'questions')

    const delegating = peer(url, 'delegating')
    await delegating.say(promptFor('subagent-permission'))
    for (let runs = 0; runs < 3 && delegating.agent.pendingInterrupts.length > 0; runs++)
      await delegating.run({ 'echo child': 'once', general: 'once' })
    expect(delegating.agent.messages.some(({ subagentRunId }) => subagentRunId !== undefined)).toBe(true)
    await expectShown(delegating, 'delegating')

    const slow = peer(url, 'slow')
    const run = slow.say(promptFor('slow'))
    await vi.waitFor(() => expect(slow.texts()).toEqual(['It begins']), 20_000)
    expect((await fetch(`${url}?threadId=slow`, { method: 'DELETE' })).status).toBe(204)
    expect(endOf(await run)).toBe('cancelled')
  })
})
