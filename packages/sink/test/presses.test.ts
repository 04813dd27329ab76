import type { Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { sealToken } from '../src/asks/token.ts'
import type { Button } from '../src/port/port.ts'
import type { FakeMessage } from '../src/testing/fake.ts'
import type { FakeOptions } from '../src/testing/fake-options.ts'
import { texts } from '../src/texts.ts'
import { asks, permits, questionOf, replyWith } from './make.ts'
import { createScene, rest, type Scene } from './scene.ts'

const ada = { id: 'ada', name: 'Ada' }
const dayMs = 86_400_000
const allowed = { type: 'answer', answer: 'once' }
const notIts = { type: 'error', error: texts.notItsMessage }

function blocked(...open: Reply['asks']): Reply {
  return replyWith([], { phase: 'blocked', asks: open })
}

function sceneOf(fake: Omit<FakeOptions, 'clock'> = {}): Scene {
  return createScene({ fake, sink: { chat: { id: 'chat', kind: 'private' }, policy: { verbosity: 'quiet' } } })
}

async function asking(reply: Reply, fake?: Omit<FakeOptions, 'clock'>): Promise<Scene> {
  const scene = sceneOf(fake)
  scene.show(reply)
  await scene.pass(10_000)
  return scene
}

async function restarted(scene: Scene, reply: Reply): Promise<void> {
  scene.restart()
  scene.show(reply)
  await scene.pass(10_000)
}

const labelled = ({ buttons }: FakeMessage, label: string): Button | undefined =>
  buttons.flat().find((button) => button.label.endsWith(label))
const lastWith = ({ fake }: Scene, label: string): FakeMessage | undefined =>
  fake.posted.findLast((message) => labelled(message, label))

/** A press of the newest button with that label, on its message or on another one. */
async function press(scene: Scene, label: string, on = lastWith(scene, label)?.id ?? ''): Promise<unknown> {
  const message = lastWith(scene, label)
  const token = (message && labelled(message, label)?.data) ?? ''
  const taken = await scene.sink().readAnswer({ token, messageRef: { id: on } }, ada)
  taken?.undo()
  return taken
}

/** All that the store has of the chat. */
const stored = async ({ store }: Scene): Promise<string> => (await store.read('chat/ses_1/msg_1')) ?? ''

describe('a press', () => {
  test.each([0, 1, 3, 29])('counts from the message of its ask alone, after %i days', async (days) => {
    const scene = await asking(blocked(permits(), asks()))
    await scene.pass(days * dayMs)
    const [permission, question] = [lastWith(scene, 'Allow once'), lastWith(scene, 'Red')]
    for (const on of ['copy', '', question?.id]) expect(await press(scene, 'Allow once', on)).toMatchObject(notIts)
    for (const on of ['copy', permission?.id]) expect(await press(scene, 'Red', on)).toMatchObject(notIts)
    expect(await press(scene, 'Allow once')).toMatchObject(allowed)
    expect(await press(scene, 'Red')).toMatchObject({ type: 'answer', answer: [['Red']] })
    const sealed = sealToken((permission && labelled(permission, 'Allow once')?.data) ?? '')
    const readSealed = async (id = '') => await scene.sink().readAnswer({ token: sealed, messageRef: { id } }, ada)
    expect(await readSealed('copy')).toMatchObject(notIts)
    expect(await readSealed(permission?.id)).toMatchObject(allowed)
  })

  test('counts from the one message of a long permission that has the buttons', async () => {
    const command = Array.from({ length: 60 }, (_, at) => `echo line ${at} of a long command`).join('\n')
    const ask = permits({ call: { tool: 'bash', input: { command } } })
    const scene = await asking(blocked(ask), { limits: { maxLength: 900 } })
    await scene.pass(60_000)
    const ids = scene.fake.screen().map(({ id }) => id)
    expect(ids.length).toBeGreaterThan(2)
    const results = await Promise.all(ids.map(async (id) => await press(scene, 'Allow once', id)))
    expect(results.slice(0, -1)).toEqual(results.slice(0, -1).map(() => expect.objectContaining(notIts)))
    expect(results.at(-1)).toMatchObject(allowed)
  })

  test('counts in the chat of its message alone, even if another chat has a message with that id', async () => {
    const scene = await asking(blocked(permits()))
    const on = lastWith(scene, 'Allow once')
    const token = (on && labelled(on, 'Allow once')?.data) ?? ''
    const input = { token, messageRef: { id: on?.id ?? '' }, chat: { id: 'elsewhere' } }
    expect(await scene.sink().readAnswer(input, ada)).toMatchObject({ type: 'error', error: texts.notHere })
  })

  test('of a question does not count from the message of an earlier one', async () => {
    const reply = blocked(
      asks([questionOf(), questionOf({ header: 'Size', options: [{ label: 'S', description: '' }] })]),
    )
    const scene = await asking(reply)
    const first = lastWith(scene, 'Red')
    const token = (first && labelled(first, 'Red')?.data) ?? ''
    await scene.sink().readAnswer({ token, messageRef: { id: first?.id ?? '' } }, ada)
    await scene.pass(10_000)
    expect(await press(scene, 'S', first?.id)).toMatchObject(notIts)
    expect(await press(scene, 'S')).toMatchObject({ type: 'answer', answer: [['Red'], ['S']] })
  })

  test('that the platform reports before it confirms the message waits for that, and counts', async () => {
    const scene = sceneOf({ limits: { perChat: { calls: 1, perMs: 5000 } } })
    let confirm = (): void => {}
    const confirmed = new Promise<void>((resolve) => {
      confirm = resolve
    })
    const { post } = scene.fake.port
    Object.assign(scene.fake.port, {
      post: async (...given: Parameters<typeof post>) => {
        const ref = await post(...given)
        await confirmed
        return ref
      },
    })
    const slow = createScene({ sink: { port: scene.fake.port, chat: { id: 'chat', kind: 'private' } } })
    slow.show(blocked(permits()))
    await slow.pass(2000)
    const on = scene.fake.screen()[0]
    const token = (on && labelled(on, 'Allow once')?.data) ?? ''
    const pressed = slow.sink().readAnswer({ token, messageRef: { id: on?.id ?? '' } }, ada)
    await rest()
    confirm()
    expect(await pressed).toMatchObject(allowed)
  })

  test('on a copy whose post was never confirmed is refused, and counts on the copy that was', async () => {
    // The first post takes effect, but its response is lost.
    const scene = await asking(blocked(permits()), { faults: [{ call: 1, type: 'done' }] })
    await scene.pass(120_000)
    const copies = scene.fake.posted.filter((message) => labelled(message, 'Allow once'))
    expect(copies.map(({ id }) => id)).toEqual(['1', '2'])
    expect(await press(scene, 'Allow once', '1')).toMatchObject(notIts)
    expect(await press(scene, 'Allow once', '2')).toMatchObject(allowed)
  })
})

describe('after a restart', () => {
  test('a press counts from its message, which is not edited for that', async () => {
    const reply = blocked(permits())
    const scene = await asking(reply)
    const calls = scene.fake.calls.length
    await restarted(scene, reply)
    expect(scene.fake.calls.slice(calls).filter(({ verb }) => verb !== 'typing')).toEqual([])
    expect(await press(scene, 'Allow once', 'copy')).toMatchObject(notIts)
    expect(await press(scene, 'Allow once')).toMatchObject(allowed)
  })

  test('an edited message has new tokens, and the old ones are over', async () => {
    const reply = blocked(asks([questionOf({ multiple: true })]))
    const scene = await asking(reply)
    const [before] = scene.fake.screen()
    await restarted(scene, reply)
    const old = { token: (before && labelled(before, 'Red')?.data) ?? '', messageRef: { id: before?.id ?? '' } }
    expect(await scene.sink().readAnswer(old, ada)).toMatchObject({ type: 'more' })
    await scene.pass(10_000)
    expect(scene.fake.screen()[0]?.edits).toBe(1)
    expect(await scene.sink().readAnswer(old, ada)).toBeUndefined()
    expect(await press(scene, 'Done')).toMatchObject({ type: 'answer', answer: [['Red']] })
  })

  test('an edit without a result leaves the old and the new tokens of that message', async () => {
    const reply = blocked(asks([questionOf({ multiple: true })]))
    // The second call is the edit, which takes effect, and all later ones fail.
    const faults = Array.from(
      { length: 50 },
      (_, at) => ({ call: at + 2, type: at === 0 ? 'done' : 'ambiguous' }) as const,
    )
    const scene = await asking(reply, { faults })
    const [before] = scene.fake.screen()
    await restarted(scene, reply)
    const old = { token: (before && labelled(before, 'Red')?.data) ?? '', messageRef: { id: before?.id ?? '' } }
    expect(await scene.sink().readAnswer(old, ada)).toMatchObject({ type: 'more' })
    await scene.pass(1000)
    const [after] = scene.fake.screen()
    const fresh = { ...old, token: (after && labelled(after, 'Red')?.data) ?? '' }
    expect(fresh.token).not.toBe(old.token)
    for (const input of [old, fresh]) expect(await scene.sink().readAnswer(input, ada)).toMatchObject({ type: 'more' })
    for (const input of [old, fresh])
      expect(await scene.sink().readAnswer({ ...input, messageRef: { id: 'copy' } }, ada)).toMatchObject(notIts)
  })

  test('a message that an idempotent platform knows from before keeps its tokens', async () => {
    const reply = blocked(permits())
    const limits = { idempotent: true, edits: false }
    // The post takes effect, but the process dies before the next try.
    const scene = sceneOf({ limits, faults: [{ call: 1, type: 'done' }] })
    scene.show(reply)
    await scene.pass(10)
    await restarted(scene, reply)
    expect(scene.fake.posted).toHaveLength(1)
    expect(await press(scene, 'Allow once')).toMatchObject(allowed)
  })
})

test('what is stored has no token, and no secret of one', async () => {
  const reply = blocked(permits(), asks([questionOf({ multiple: true })]))
  const scene = await asking(reply)
  const tokens = new Set<string>()
  const note = (): void => {
    for (const { data } of scene.fake.posted.flatMap(({ buttons }) => buttons.flat())) tokens.add(data)
  }
  note()
  await restarted(scene, reply)
  expect(await press(scene, 'Red')).toMatchObject({ type: 'more' })
  await scene.pass(10_000)
  note()
  expect(tokens.size).toBeGreaterThan(8)
  const text = await stored(scene)
  expect(text).toContain('per_1')
  for (const token of tokens) {
    expect(text).not.toContain(token)
    expect(text).not.toContain(token.split('.')[0])
  }
})
