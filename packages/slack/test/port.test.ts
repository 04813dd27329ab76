import type { SlackFault } from '@reply/testing/slack'
import { WebClient } from '@slack/web-api'
import { describe, expect, test } from 'vitest'
import { createSlackPort, slackLimits } from '../src/internal.ts'
import { clientOf, editing, ending, open, posting, recipient, start, token, until } from './app.ts'

const ours = ({ slack }: Awaited<ReturnType<typeof open>>) => slack.screen('C1').filter(({ from }) => from === 'bot')

describe('a post', () => {
  test('is Markdown in its thread, with a fallback text for notifications', async () => {
    const opened = await open()
    const { port, bubble, root, slack } = opened
    const ref = await port.post(bubble('**a** & `b`'), posting)
    expect(ours(opened)).toMatchObject([
      { ts: ref.id, text: '**a** & `b`', mode: 'markdown', fallback: 'a &amp; b', threadTs: root },
    ])
    const [call] = slack.calls
    expect(call?.payload).toMatchObject({ parse: 'none', link_names: 'false', unfurl_links: 'false' })
  })

  test('is sent without markup after that was refused', async () => {
    const opened = await open()
    const { port, bubble } = opened
    await port.post(bubble('', { text: '*a* <b> :smile:', plain: '*a* <b> :smile:', isPlain: true }), posting)
    expect(ours(opened)).toMatchObject([{ text: '*a* <b> :smile:', mode: 'plain' }])
  })

  test('outside of a thread replies in the thread of its message', async () => {
    const opened = await open({}, { threadTs: undefined })
    const { port, bubble, root } = opened
    await port.post(bubble('a'), posting)
    await opened.clock.advance(1000)
    await port.post(bubble('b'), { ...posting, replyTo: { id: root } })
    expect(ours(opened).map(({ threadTs }) => threadTs)).toEqual([undefined, root])
  })

  test.each([
    ['in its thread', {}],
    ['in the thread that it starts', { threadTs: undefined }],
    ['in the channel', { threadTs: undefined, startsThreads: false }],
  ])('is found where it was posted: %s', async (_, options) => {
    const opened = await open({}, options)
    const { port, bubble, root, clock } = opened
    const [replyTo, looking] = [{ id: root }, { ...editing, kind: 'message', since: clock.now() } as const]
    const ref = await port.post(bubble('a'), { ...posting, replyTo })
    expect(await port.lookUp?.({ ...looking, key: posting.key, replyTo })).toEqual({ type: 'there', ref })
    expect(await port.lookUp?.({ ...looking, key: 'another', replyTo })).toEqual({ type: 'absent' })
  })

  test('an open stream is found by its app and its time, unless another reply has it', async () => {
    const { port, slack, clock } = await open()
    const looking = { ...editing, kind: 'stream', key: 'k', since: clock.now() } as const
    const piece = { text: 'It', tasks: [] }
    expect(await port.lookUp?.(looking)).toEqual({ type: 'absent' })
    const known = await port.stream?.open(piece, { ...posting, key: 'other' })
    expect(await port.lookUp?.(looking)).toEqual({ type: 'absent' })
    slack.inject({ type: 'accept-then-drop', method: 'chat.startStream' })
    await ending(port.stream?.open(piece, posting))
    const [, , lost] = slack.screen('C1')
    expect(await port.lookUp?.(looking)).toEqual({ type: 'there', ref: { id: lost?.ts, postedAt: expect.any(Number) } })
    expect(lost?.ts).not.toBe(known?.id)
    // It belongs to that reply now.
    expect(await port.lookUp?.({ ...looking, key: 'third' })).toEqual({ type: 'absent' })
  })

  test('an open stream of an earlier process that began before the prompt is of another reply', async () => {
    const { port, slack, clock, root } = await open()
    const piece = { text: 'It', tasks: [] }
    await port.stream?.open(piece, { ...posting, key: 'earlier' })
    await clock.advance(1000)
    const replyTo = { id: slack.say('C1', 'And now?', { threadTs: root }) }
    const later = createSlackPort({ api: clientOf(slack), clock, channelId: 'C1', threadTs: root, recipient })
    const looking = { ...editing, kind: 'stream', key: 'k', since: clock.now(), replyTo } as const
    expect(await later.lookUp?.(looking)).toEqual({ type: 'absent' })
    slack.inject({ type: 'accept-then-drop', method: 'chat.startStream' })
    await ending(later.stream?.open(piece, posting))
    const ref = { id: slack.screen('C1').at(-1)?.ts, postedAt: expect.any(Number) }
    expect(await later.lookUp?.(looking)).toEqual({ type: 'there', ref })
  })

  test('a stream is found again by the process that opened or found it, whatever became of it', async () => {
    const { port, slack, clock } = await open()
    const looking = { ...editing, kind: 'stream', since: clock.now() } as const
    const piece = { text: 'It', tasks: [] }
    const opened = await port.stream?.open(piece, { ...posting, key: 'opened' })
    if (!opened) throw new Error('The port has no append stream.')
    slack.inject({ type: 'accept-then-drop', method: 'chat.startStream' })
    await ending(port.stream?.open(piece, { ...posting, key: 'lost' }))
    const lost = { type: 'there', ref: { id: slack.screen('C1')[2]?.ts, postedAt: expect.any(Number) } }
    const look = async () => [
      await port.lookUp?.({ ...looking, key: 'opened' }),
      await port.lookUp?.({ ...looking, key: 'lost' }),
    ]
    expect(await look()).toEqual([{ type: 'there', ref: opened }, lost])
    expect(await look()).toEqual([{ type: 'there', ref: opened }, lost])
    await port.stream?.close(opened, piece, editing)
    expect(await look()).toEqual([{ type: 'there', ref: opened }, lost])
  })

  test('of two streams that could be meant, and of one that Slack may have closed, it can not tell', async () => {
    const { port, slack, clock, api, root } = await open()
    const looking = { ...editing, kind: 'stream', key: 'k', since: clock.now() } as const
    for (const text of ['One', 'Two']) {
      slack.inject({ type: 'accept-then-drop', method: 'chat.startStream' })
      await ending(port.stream?.open({ text, tasks: [] }, posting))
    }
    expect(await port.lookUp?.(looking)).toEqual({ type: 'unknown' })
    await clock.advance(300_000)
    const later = createSlackPort({ api, clock, channelId: 'C1', threadTs: root, recipient })
    expect(await later.lookUp?.(looking)).toEqual({ type: 'unknown' })
  })

  test('mentions no one, in the fallback text neither', async () => {
    const { port, bubble, slack } = await open()
    await port.post(bubble('<!channel> <@U1> @here [x](!here)'), posting)
    expect(slack.mentions).toEqual([])
    expect(String(slack.calls[0]?.payload.text)).toContain('&lt;')
  })
})

test.each(['<', '&', 'a<b>'])('an edit full of %s has a fallback text that Slack accepts', async (sign) => {
  const opened = await open()
  const { port, bubble } = opened
  const ref = await port.post(bubble('a'), posting)
  await port.edit?.(ref, bubble(`\`\`\`\n${sign.repeat(2900)}\n\`\`\``), editing)
  expect(ours(opened)[0]?.fallback).toMatch(/(?:&lt;|&amp;|&gt;|[ab])…$/)
})

test('an edit without buttons removes the buttons', async () => {
  const opened = await open()
  const { port, bubble } = opened
  const ref = await port.post(bubble('a', { buttons: [[{ label: 'Yes', data: 'y' }]] }), posting)
  expect(ours(opened)[0]?.controls.flat()).toMatchObject([{ type: 'button', label: 'Yes', value: 'y' }])
  await port.edit?.(ref, bubble('b'), editing)
  expect(ours(opened)).toMatchObject([{ text: 'b', controls: [] }])
})

test("a reaction on a person's message replaces the other", async () => {
  const { slack, port, root } = await open()
  const shown = async (sign: 'seen' | 'done' | undefined): Promise<unknown> => {
    await port.react?.({ id: root }, sign, editing)
    return slack.screen('C1')[0]?.reactions
  }
  expect(await shown('seen')).toEqual(['eyes'])
  expect(await shown('seen')).toEqual(['eyes'])
  expect([await shown('done'), await shown(undefined)]).toEqual([['white_check_mark'], []])
  expect(slack.calls.map(({ method }) => method.split('.')[1])).toEqual(['add', 'add', 'remove', 'remove'])
  const api = clientOf(slack)
  await api.reactions.add({ channel: 'C1', timestamp: root, name: 'eyes' })
  await createSlackPort({ api, channelId: 'C1', threadTs: root }).react?.({ id: root }, 'done', editing)
  expect(slack.screen('C1')[0]?.reactions).toEqual(['white_check_mark'])
})

describe('the status', () => {
  test('is shown in the thread, and the session is processing', async () => {
    const { slack, port, root, clock } = await open()
    await port.typing?.(true, { ...editing, doing: 'Running bash' })
    expect([slack.status('C1', root), slack.session('C1', root)]).toEqual(['Running bash', 'processing'])
    await clock.advance(120_000)
    expect(slack.status('C1', root)).toBe('')
    await port.typing?.(true, editing)
    expect([slack.status('C1', root), slack.count('agents.sessions.setStatus')]).toEqual(['is working…', 1])
    await port.typing?.(false, editing)
    expect([slack.status('C1', root), slack.session('C1', root)]).toEqual(['', 'active'])
  })

  test('ends even if the call before is slower', async () => {
    const { slack, port, root, clock } = await open({ faults: [{ type: 'delay', delayMs: 500, method: /Status$/ }] })
    const begun = port.typing?.(true, editing)
    await until(() => slack.calls.some(({ fault }) => fault === 'delay') && clock.pending > 1)
    const ended = port.typing?.(false, editing)
    await clock.advance(500)
    await Promise.all([begun, ended])
    expect([slack.status('C1', root), slack.session('C1', root)]).toEqual(['', 'active'])
  })

  test('is shown and ended in 60 threads at once without a rate limit: some begin later, and each ends', async () => {
    const { slack, api, clock } = await open()
    const threads = Array.from({ length: 60 }, (_, index) => `${1_700_000_000 + index}.000100`)
    const ports = threads.map((threadTs) => createSlackPort({ api, clock, channelId: 'C1', threadTs, recipient }))
    const sessions = (state: string): number => threads.filter((one) => slack.session('C1', one) === state).length
    for (const port of ports) await port.typing?.(true, editing)
    expect(sessions('processing')).toBe(25)
    for (let minute = 0; minute < 2; minute++) {
      await clock.advance(61_000)
      await until(() => sessions('processing') === Math.min(60, 25 * (minute + 2)))
    }
    for (const port of ports) await port.typing?.(false, editing)
    for (let minute = 0; minute < 2; minute++) await clock.advance(61_000)
    await until(() => sessions('active') === 60)
    expect(slack.calls.filter(({ status }) => status === 429)).toEqual([])
  })

  test('mentions no one', async () => {
    const { slack, port } = await open()
    await port.typing?.(true, { ...editing, doing: 'grep <!channel> <@U1>' })
    expect(slack.mentions).toEqual([])
  })

  test('is not tried again where the workspace has none', async () => {
    const { slack, port } = await open({ features: { statuses: false, sessions: false } })
    expect(port.limits.typingHasStatus).toBe(true)
    await port.typing?.(true, editing)
    await port.typing?.(false, editing)
    expect([slack.calls.length, port.limits.typingHasStatus]).toEqual([2, false])
  })

  test('pauses after a rate limit, and the end is sent afterwards', async () => {
    const faults: readonly SlackFault[] = [{ type: 'rate-limited', retryAfterS: 9, method: /Status$/, times: 2 }]
    const { slack, port, root, clock } = await open({ faults })
    await port.typing?.(true, editing)
    await port.typing?.(true, editing)
    await port.typing?.(false, editing)
    expect([slack.calls.length, slack.session('C1', root)]).toEqual([2, undefined])
    await clock.advance(9000)
    await until(() => slack.session('C1', root) === 'active')
  })

  test('does not exist outside of threads', async () => {
    const { port } = await open({}, { threadTs: undefined })
    expect([port.typing, port.limits.typingHasStatus, port.stream]).toEqual([undefined, false, undefined])
  })
})

describe('a file', () => {
  const file = { name: 'a.ts', mime: 'text/plain', bytes: Buffer.from('const ä = 1 < 2'), caption: 'code <x>' }

  test('has its name, its bytes and its caption, in the thread', async () => {
    const opened = await open()
    const ref = await opened.port.upload?.(file, posting)
    const [posted] = ours(opened)
    expect(posted).toMatchObject({
      ts: ref?.id,
      threadTs: opened.root,
      fallback: 'code &lt;x&gt;',
      file: { name: 'a.ts' },
    })
    expect(Buffer.from(posted?.file?.bytes ?? []).toString()).toBe('const ä = 1 < 2')
  })

  test('without bytes is refused, because Slack takes none', async () => {
    const opened = await open()
    const empty = opened.port.upload?.({ ...file, bytes: new Uint8Array() }, posting)
    await expect(empty).rejects.toMatchObject({ type: 'refused', message: 'The file a.ts is empty.' })
    expect(opened.slack.calls).toEqual([])
  })

  test('whose message cannot be found is known by its file id', async () => {
    const opened = await open({ faults: [{ type: 'error', error: 'missing_scope', method: 'files.info', times: 9 }] })
    let isDone = false
    const uploading = opened.port.upload?.(file, posting).finally(() => {
      isDone = true
    })
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve))
      await opened.clock.advance(20)
    }
    expect((await uploading)?.id).toMatch(/^F/)
    expect(opened.slack.count('files.info')).toBe(4)
    expect(ours(opened)).toHaveLength(1)
  })
})

const error = (word: string): SlackFault => ({ type: 'error', error: word })

test.each<[string, SlackFault, string]>([
  ['a flood', { type: 'rate-limited', retryAfterS: 7 }, 'rate-limited'],
  ['a flood that does not say for how long', { type: 'status', code: 429 }, 'rate-limited'],
  ['a missing right', error('restricted_action'), 'refused'],
  ['an archived channel', error('is_archived'), 'refused'],
  ['a channel that is gone', error('channel_not_found'), 'gone'],
  ['a thread that is gone', error('thread_not_found'), 'gone'],
  ['a wrong token', error('invalid_auth'), 'refused'],
  ['too long', error('msg_too_long'), 'too-long'],
  ['wrong blocks', error('invalid_blocks'), 'unparsable'],
  ['a message that streams', error('streaming_state_conflict'), 'unreachable'],
  ['a failure of theirs', { type: 'status', code: 500 }, 'ambiguous'],
  ['a gateway that gave up', { type: 'status', code: 504, isTaken: true }, 'ambiguous'],
  ['an error that may have come after it', { ...error('internal_error'), isTaken: true } as SlackFault, 'ambiguous'],
  ['a web page', { type: 'html' }, 'ambiguous'],
  ['a break before', { type: 'refuse' }, 'ambiguous'],
  ['a break after', { type: 'accept-then-drop' }, 'ambiguous'],
])('%s fails by its kind', async (_, fault, type) => {
  const { port, bubble } = await open({ faults: [fault] })
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type, name: 'PortError' })
})

test.each<[string, SlackFault, boolean]>([
  ['an archived channel', error('is_archived'), true],
  ['a channel that the app is not in', error('not_in_channel'), true],
  ['a wrong token', error('invalid_auth'), false],
  ['a message that is refused', error('invalid_arguments'), false],
])('%s: the error tells whether the chat takes nothing of the bot', async (_, fault, isOfChat) => {
  const { port, bubble } = await open({ faults: [fault] })
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'refused', isOfChat })
})

test('a rate limit applies to the channel for posts, to the workspace for edits', async () => {
  const faults: readonly SlackFault[] = [{ type: 'rate-limited', retryAfterS: 7, times: 2 }]
  const { port, bubble } = await open({ faults })
  const posted = await ending(port.post(bubble('a'), posting))
  expect(posted).toMatchObject({ retryAfterMs: 7000, scope: 'chat' })
  expect(await ending(port.edit?.({ id: '1' }, bubble('a'), editing))).toMatchObject({ scope: 'client' })
})

test.each<SlackFault['type'] & ('stall' | 'accept-then-stall')>(['stall', 'accept-then-stall'])(
  '%s: the call times out, and its outcome is ambiguous',
  async (type) => {
    const { slack, port, bubble, clock } = await open({ faults: [{ type }] })
    const posted = ending(port.post(bubble('a'), posting))
    await until(() => slack.calls.length === 1)
    await clock.advance(30_000)
    expect(await posted).toMatchObject({ type: 'ambiguous' })
    expect(clock.pending).toBe(0)
  },
)

test('a failed connection is unreachable: the server received nothing', async () => {
  const { slack, port, bubble } = await open()
  await slack.close()
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'unreachable' })
  const quiet = { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }
  const nowhere = new WebClient(token, { slackApiUrl: 'http://nowhere.invalid/api/', ...quiet })
  const lost = createSlackPort({ api: nowhere, channelId: 'C1' })
  expect(await ending(lost.post(bubble('a'), posting))).toMatchObject({ type: 'unreachable' })
})

test('no error contains a wrong token', async () => {
  const { slack } = await start()
  const quiet = { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }
  const api = new WebClient('xoxb-very-secret-and-wrong', { slackApiUrl: slack.url, ...quiet })
  const port = createSlackPort({ api, channelId: 'C1' })
  const { bubble } = await open()
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ message: 'post in C1: invalid_auth' })
})

test("the budgets stay below Slack's limits", () => {
  const { perChat, perClient, perKind = {}, maxLength, buttons } = slackLimits
  const perMinute = ({ calls, perMs }: { readonly calls: number; readonly perMs: number }): number =>
    (calls * 60_000) / perMs
  expect(perChat.perMs / perChat.calls).toBeGreaterThan(1000)
  expect(perClient && perMinute(perClient)).toBeLessThan(200)
  const tiers = {
    edit: 50,
    remove: 50,
    'look-up': 50,
    open: 20,
    append: 100,
    close: 20,
    react: 20,
    session: 100,
  } as const
  for (const [kind, budget] of Object.entries(perKind))
    expect(perMinute(budget)).toBeLessThan(tiers[kind as keyof typeof tiers])
  expect(Object.keys(perKind)).toEqual(Object.keys(tiers))
  expect([maxLength, buttons?.data, buttons?.label]).toEqual([12_000, 2000, 75])
})

test('a blank label is shown as an ellipsis: Slack refuses it', async () => {
  const opened = await open()
  await opened.port.post(opened.bubble('a', { buttons: [[{ label: ' \u00a0', data: 'y' }]] }), posting)
  expect(ours(opened)[0]?.controls.flat()).toMatchObject([{ label: '…', value: 'y' }])
})

test('all blocks together are short enough, or fail as too long', async () => {
  const { slack, port, bubble } = await open()
  const row = (index: number) => [{ label: `${index}`, data: `${'d'.repeat(400)}${index}` }]
  const buttons = Array.from({ length: 3 }, (_, index) => row(index))
  expect(await ending(port.post(bubble('x'.repeat(12_000), { buttons }), posting))).toMatchObject({ type: 'too-long' })
  expect(slack.screen('C1').filter(({ from }) => from === 'bot')).toEqual([])
  expect(await ending(port.post(bubble('x'.repeat(8000), { buttons }), posting))).toEqual({ type: 'done' })
})
