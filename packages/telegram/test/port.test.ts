import type { TelegramFault } from '@reply/testing/telegram'
import { Api, InputFile } from 'grammy'
import { describe, expect, test } from 'vitest'
import { createTelegramPort, telegramLimits } from '../src/internal.ts'
import { renderFor } from '../src/port.ts'
import { editing, ending, open, posting, token, until } from './bot.ts'

describe('a post', () => {
  test('is a rich message in HTML, in which Telegram finds no names', async () => {
    const { telegram, port, bubble } = await open()
    expect(await port.post(bubble('**a** | b'), posting)).toMatchObject({ id: '1', postedAt: expect.any(Number) })
    const source = '<p><b>a</b> | b</p>'
    expect(telegram.screen(7)).toMatchObject([{ source, text: 'a | b', mode: 'rich', isSilent: false }])
    expect(telegram.calls).toMatchObject([{ payload: { rich_message: { html: source, skip_entity_detection: true } } }])
  })

  test('is HTML if rich messages are turned off', async () => {
    const { telegram, port, bubble } = await open({}, { rich: false })
    await port.post(bubble('**a** <b>'), posting)
    expect(telegram.screen(7)).toMatchObject([{ text: 'a <b>', mode: 'HTML' }])
    expect(telegram.calls).toMatchObject([{ payload: { link_preview_options: { is_disabled: true } } }])
  })

  test('is sent without markup after that was refused', async () => {
    const { telegram, port, bubble } = await open()
    const { plain } = bubble('**a** <b>')
    await port.post(bubble('**a** <b>', { text: plain, isPlain: true }), posting)
    expect(telegram.screen(7)).toMatchObject([{ text: 'a <b>', mode: 'plain' }])
  })

  test('is a silent reply with buttons', async () => {
    const { telegram, port, bubble } = await open()
    const asked = telegram.say(7, 'Why?')
    const buttons = [[{ label: 'Yes', data: 'y' }], [{ label: 'No', data: 'n' }]]
    await port.post(bubble('?', { buttons }), { ...posting, silent: true, replyTo: { id: String(asked) } })
    const [, posted] = telegram.screen(7)
    expect(posted).toMatchObject({ replyTo: asked, isSilent: true, buttons: [[{ text: 'Yes', data: 'y' }], [{}]] })
  })

  test('is sent even if the message it replies to was deleted', async () => {
    const { telegram, port, bubble } = await open()
    await port.post(bubble('a'), { ...posting, replyTo: { id: '99' } })
    expect(telegram.screen(7)).toMatchObject([{ text: 'a', replyTo: undefined }])
  })
})

describe('an edit', () => {
  test('that changes nothing succeeds', async () => {
    const { port, bubble } = await open()
    const ref = await port.post(bubble('a'), posting)
    expect(await ending(port.edit?.(ref, bubble('a'), editing))).toEqual({ type: 'done' })
  })

  test('without buttons removes the buttons', async () => {
    const { telegram, port, bubble } = await open()
    const ref = await port.post(bubble('a', { buttons: [[{ label: 'Yes', data: 'y' }]] }), posting)
    await port.edit?.(ref, bubble('b'), editing)
    expect(telegram.screen(7)).toMatchObject([{ text: 'b', buttons: [] }])
  })
})

test('removing a deleted message succeeds', async () => {
  const { telegram, port, bubble } = await open()
  const ref = await port.post(bubble('a'), posting)
  await port.remove?.(ref, editing)
  expect(telegram.screen(7)).toEqual([])
  expect(await ending(port.remove?.(ref, editing))).toEqual({ type: 'done' })
})

test('a document has its name, its text and a caption', async () => {
  const { telegram, port } = await open()
  const file = { name: 'a.ts', mime: 'text/plain', bytes: Buffer.from('const ä = 1'), caption: 'code' }
  await port.upload?.(file, posting)
  const [posted] = telegram.screen(7)
  expect(posted).toMatchObject({ text: 'code', document: { name: 'a.ts' } })
  expect(Buffer.from(posted?.document?.bytes ?? []).toString()).toBe('const ä = 1')
})

test('a caption and a text without markup mention no one', async () => {
  const { telegram, port, bubble } = await open()
  await port.upload?.({ name: 'a.ts', mime: 'text/plain', bytes: Buffer.from('x'), caption: '@some_body' }, posting)
  await port.post(bubble('', { text: '@some_body', plain: '@some_body', isPlain: true }), { ...posting, key: 'b' })
  expect(telegram.screen(7)).toMatchObject([
    { text: '@\u2060some_body', names: [] },
    { text: '@\u2060some_body', names: [], loads: [] },
  ])
})

test('a long caption is cut, never inside a surrogate pair', async () => {
  const { telegram, port } = await open()
  await port.upload?.({ name: 'a.ts', mime: 'text/plain', bytes: Buffer.from('x'), caption: '👍'.repeat(600) }, posting)
  expect(telegram.screen(7)[0]?.text).toBe(`${'👍'.repeat(511)}…`)
})

test("the host's own grammY makes the file if given", async () => {
  const made: string[] = []
  const inputFile = (bytes: Uint8Array, name: string): InputFile => {
    made.push(name)
    return new InputFile(bytes, name)
  }
  const { port } = await open({}, { inputFile })
  await port.upload?.({ name: 'b.ts', mime: 'text/plain', bytes: Buffer.from('b'), caption: '' }, posting)
  expect(made).toEqual(['b.ts'])
})

test("reactions on a person's message are ones that bots may use", async () => {
  const { telegram, port } = await open()
  const ref = { id: String(telegram.say(7, 'Go')) }
  const shown = async (sign: 'seen' | 'done' | undefined): Promise<unknown> => {
    await port.react?.(ref, sign, editing)
    return telegram.screen(7)[0]?.reactions
  }
  expect([await shown('seen'), await shown('done'), await shown(undefined)]).toEqual([['👀'], ['👍'], []])
})

test('the typing indicator shows and ends by itself', async () => {
  const { telegram, port, clock } = await open()
  await port.typing?.(true, editing)
  await port.typing?.(false, editing)
  expect([telegram.typing(7), telegram.count('sendChatAction')]).toEqual([true, 1])
  await clock.advance(5000)
  expect(telegram.typing(7)).toBe(false)
})

test('in a topic, every call that takes the topic names it', async () => {
  const chats = [{ id: 7, topics: [3] }]
  const { telegram, port, bubble, clock } = await open({ chats }, { threadId: 3 })
  const ref = await port.post(bubble('a'), posting)
  await port.edit?.(ref, bubble('b'), editing)
  await port.typing?.(true, editing)
  await port.upload?.({ name: 'a', mime: 'text/plain', bytes: Buffer.from('a'), caption: '' }, posting)
  await clock.advance(3000)
  await port.stream?.write(bubble('c'), editing)
  const named = telegram.calls.filter(({ payload }) => String(payload.message_thread_id) === '3')
  expect(named.map(({ method }) => method)).toEqual([
    'sendRichMessage',
    'sendChatAction',
    'sendDocument',
    'sendRichMessageDraft',
  ])
  expect(telegram.screen(7, 3)).toHaveLength(telegram.screen(7).length)
})

const refused = (description: string, code = 400): TelegramFault => ({
  type: 'status',
  code,
  description: `Bad Request: ${description}`,
})

test.each<[string, TelegramFault, string]>([
  ['a flood', { type: 'rate-limited', retryAfterS: 7 }, 'rate-limited'],
  ['a blocked bot', { type: 'status', code: 403, description: 'Forbidden: bot was blocked by the user' }, 'refused'],
  ['a missing right', refused('not enough rights to send text messages to the chat'), 'refused'],
  ['a chat that is gone', refused('chat not found'), 'gone'],
  ['a topic that is gone', refused('message thread not found'), 'gone'],
  ['a wrong token', { type: 'status', code: 401 }, 'refused'],
  ['too long', refused('message is too long'), 'too-long'],
  ['too long, in the newer words', refused('MESSAGE_TOO_LONG'), 'too-long'],
  ['too many blocks', refused('rich message has too many blocks'), 'too-long'],
  ['wrong markup', refused("can't parse entities: unsupported start tag at byte offset 3"), 'unparsable'],
  ['a table too wide', refused('rich message table has too many columns'), 'unparsable'],
  ['a failure of theirs', { type: 'status', code: 500 }, 'ambiguous'],
  ['a gateway that gave up', { type: 'status', code: 504, isTaken: true }, 'ambiguous'],
  ['a web page', { type: 'html' }, 'ambiguous'],
  ['a break before', { type: 'refuse' }, 'ambiguous'],
  ['a break after', { type: 'accept-then-drop' }, 'ambiguous'],
])('%s fails by its kind', async (_, fault, type) => {
  const { port, bubble } = await open({ faults: [fault] })
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type, name: 'PortError' })
})

test.each<[string, TelegramFault, boolean]>([
  ['a blocked bot', { type: 'status', code: 403, description: 'Forbidden: bot was blocked by the user' }, true],
  ['a group without a right to send', refused('not enough rights to send text messages to the chat'), true],
  ['a closed topic', refused('TOPIC_CLOSED'), true],
  ['a wrong token', { type: 'status', code: 401 }, false],
  ['a message that is refused', refused('BUTTON_DATA_INVALID'), false],
])('%s: the error tells whether the chat takes nothing of the bot', async (_, fault, isOfChat) => {
  const { port, bubble } = await open({ faults: [fault] })
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'refused', isOfChat })
})

test.each<[string, TelegramFault | undefined, object]>([
  ['answers', undefined, { type: 'done', value: { type: 'unknown' } }],
  ['refuses', refused('not enough rights'), { type: 'done', value: { type: 'unknown' } }],
  ['fails', { type: 'status', code: 502 }, { type: 'ambiguous' }],
  ['asks for a pause', { type: 'rate-limited', retryAfterS: 7 }, { type: 'rate-limited', retryAfterMs: 7000 }],
])('a look-up of a post only tells whether Telegram %s', async (_, fault, outcome) => {
  const { port } = await open({ faults: fault ? [fault] : [] })
  const looked = port
    .lookUp?.({ ...editing, key: 'k', kind: 'message', since: 0 })
    .then((value) => ({ type: 'done', value }))
  expect(await looked?.catch((error: unknown) => error)).toMatchObject(outcome)
})

test('a rate limit has its wait, but not its scope', async () => {
  const { port, bubble } = await open({ faults: [{ type: 'rate-limited', retryAfterS: 7 }] })
  const failure = await ending(port.post(bubble('a'), posting))
  expect(failure).toMatchObject({ retryAfterMs: 7000, scope: 'unknown' })
})

test('an edit of a missing or foreign message fails by its kind', async () => {
  const { telegram, port, bubble } = await open()
  const theirs = { id: String(telegram.say(7, 'x')) }
  expect(await ending(port.edit?.({ id: '99' }, bubble('a'), editing))).toMatchObject({ type: 'gone' })
  expect(await ending(port.edit?.(theirs, bubble('a'), editing))).toMatchObject({ type: 'fixed' })
})

test.each<TelegramFault['type'] & ('stall' | 'accept-then-stall')>(['stall', 'accept-then-stall'])(
  '%s: the call times out, and its outcome is ambiguous',
  async (type) => {
    const { telegram, port, bubble, clock } = await open({ faults: [{ type }] })
    const posted = ending(port.post(bubble('a'), posting))
    await until(() => telegram.calls.length === 1)
    await clock.advance(30_000)
    expect(await posted).toMatchObject({ type: 'ambiguous' })
    expect(clock.pending).toBe(0)
  },
)

test('a failed connection is unreachable: the server received nothing', async () => {
  const { telegram, port, bubble } = await open()
  await telegram.close()
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'unreachable' })
  const nowhere = new Api(token, { apiRoot: 'http://nowhere.invalid', sensitiveLogs: true })
  const lost = createTelegramPort({ api: nowhere, chatId: 7 })
  expect(await ending(lost.post(bubble('a'), posting))).toMatchObject({ type: 'unreachable' })
})

describe('a server without rich messages', () => {
  const features = { richMessages: false }

  test('gets HTML in the same call, and no rich message after two refusals', async () => {
    const { telegram, port, api, bubble } = await open({ features })
    for (const source of ['**a**', '**b**', '**c**']) await port.post(bubble(source), posting)
    expect(telegram.screen(7)).toMatchObject([{ text: 'a' }, { text: 'b' }, { text: 'c', mode: 'HTML' }])
    expect(telegram.count('sendRichMessage')).toBe(2)
    expect(renderFor(api)('**c**').text).toBe('<b>c</b>')
    expect(port.limits.maxLength).toBe(4096)
  })

  test('is not assumed because of single 404s', async () => {
    const fault: TelegramFault = { type: 'status', code: 404, method: 'sendRichMessage' }
    const { telegram, port, bubble } = await open({ faults: [fault, { ...fault, nth: 3 }] })
    for (const source of ['a', 'b', 'c']) await port.post(bubble(source), posting)
    expect(telegram.screen(7).map(({ mode }) => mode)).toEqual(['HTML', 'rich', 'HTML'])
    expect(port.limits.maxLength).toBe(32_768)
  })

  test('gets HTML for an edit, too', async () => {
    const { telegram, port, api, bubble } = await open({ features })
    const { message_id } = await api.sendMessage(7, 'old')
    await port.edit?.({ id: String(message_id) }, bubble('**new**'), editing)
    expect(telegram.screen(7)).toMatchObject([{ text: 'new', mode: 'HTML' }])
  })

  test('gets no text that it could not take', async () => {
    const { telegram, port, bubble } = await open({ features })
    const long = bubble('word '.repeat(1000))
    expect(await ending(port.post(long, posting))).toMatchObject({ type: 'too-long' })
    expect(await ending(port.post(long, posting))).toMatchObject({ type: 'too-long' })
    expect(telegram.count('sendMessage')).toBe(0)
  })
})

describe('a draft', () => {
  test('exists in private chats, with a Stop button', async () => {
    const { telegram, port, api, bubble } = await open()
    await port.stream?.write(bubble('wri'), editing)
    await port.stream?.write(bubble('writing'), editing)
    expect(telegram.screen(7)).toMatchObject([{ text: 'writing', isDraft: true }])
    telegram.stopDraft(7)
    expect(createTelegramPort({ api, chatId: -7 }).stream).toBeUndefined()
  })

  test('is plain on a server without rich drafts', async () => {
    const { telegram, port, bubble } = await open({ features: { richMessages: false } })
    await port.stream?.write(bubble('**a**'), editing)
    expect(telegram.screen(7)).toMatchObject([{ text: 'a', isDraft: true }])
  })

  test('that one chat refuses is not tried again there, but in others', async () => {
    const fault: TelegramFault = { type: 'status', code: 400, description: 'Bad Request: TEXTDRAFT_PEER_INVALID' }
    const { telegram, port, api, bubble } = await open({ faults: [fault] })
    await port.stream?.write(bubble('a'), editing)
    expect([port.stream, createTelegramPort({ api, chatId: 7 }).stream]).toEqual([undefined, undefined])
    await createTelegramPort({ api, chatId: 8 }).stream?.write(bubble('b'), editing)
    expect([telegram.screen(7), telegram.screen(8)]).toMatchObject([[], [{ text: 'b', isDraft: true }]])
  })

  test('that meets a 404 of a gateway is tried again', async () => {
    const { telegram, port, bubble } = await open({ faults: [{ type: 'status', code: 404, times: 2 }] })
    await port.stream?.write(bubble('a'), editing)
    await port.stream?.write(bubble('ab'), editing)
    expect(telegram.screen(7)).toMatchObject([{ text: 'ab', isDraft: true }])
  })

  test('that the server does not know is not tried again', async () => {
    const { telegram, port, api, bubble } = await open({ features: { drafts: false } })
    const { stream } = port
    for (const text of ['a', 'ab', 'abc']) await stream?.write(bubble(text), editing)
    const tried = ['sendRichMessageDraft', 'sendMessageDraft']
    expect(telegram.calls.map(({ method }) => method)).toEqual([...tried, ...tried])
    expect([port.stream, createTelegramPort({ api, chatId: 8 }).stream]).toEqual([undefined, undefined])
    await port.post(bubble('**a**'), posting)
    expect(telegram.screen(7)).toMatchObject([{ mode: 'rich' }])
  })
})

test("the budgets stay below Telegram's limits", () => {
  const [own, group] = [telegramLimits('private', true), telegramLimits('group', false)]
  expect([own.maxLength, group.maxLength]).toEqual([32_768, 4096])
  expect(own.perChat.perMs / own.perChat.calls).toBeGreaterThan(1000)
  expect((60_000 / group.perChat.perMs) * group.perChat.calls).toBeLessThan(20)
})
