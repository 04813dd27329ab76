import { REST } from '@discordjs/rest'
import type { DiscordFault } from '@reply/testing/discord'
import { describe, expect, test } from 'vitest'
import { createDiscordPort, discordLimits } from '../src/internal.ts'
import { bubble, channelId, editing, ending, open, posting, start, tellsNothing, token, until } from './bot.ts'

describe('a post', () => {
  test("shows its Markdown's text, mentions no one, and embeds no links", async () => {
    const { discord, port } = await open()
    await port.post(bubble('**a** `b` @everyone <@800000000000000001> https://a.b'), posting)
    const [shown] = discord.screen(channelId)
    expect(shown).toMatchObject({ source: expect.stringContaining('**a** `b`'), isSilent: false })
    expect(discord.mentions(channelId)).toEqual([])
    expect(discord.calls).toMatchObject([{ body: { allowed_mentions: { parse: [] }, flags: 4, enforce_nonce: true } }])
  })

  test('mentions no one even if its text tries to', async () => {
    const { discord, port } = await open()
    const text = '@everyone <@800000000000000001> <@&1>'
    await port.post(bubble('', { text, plain: text, length: text.length }), posting)
    const ref = await port.post(bubble('a'), { ...posting, key: 'b' })
    await port.edit?.(ref, bubble('', { text }), editing)
    expect([discord.screen(channelId)[1]?.source, discord.mentions(channelId)]).toEqual([text, []])
  })

  test('is a silent reply with buttons', async () => {
    const { discord, port } = await open()
    const asked = discord.say(channelId, 'Why?')
    const buttons = [[{ label: 'Yes', data: 'y' }], [{ label: 'No', data: 'n' }]]
    await port.post(bubble('?', { buttons }), { ...posting, silent: true, replyTo: { id: asked } })
    const [, posted] = discord.screen(channelId)
    const row = (label: string, customId: string) => [{ type: 'button', label, customId, style: 2 }]
    expect(posted).toMatchObject({
      replyTo: asked,
      isSilent: true,
      rows: [row('Yes', 'reply:y'), row('No', 'reply:n')],
    })
  })

  test('is sent even if the message it replies to was deleted', async () => {
    const { discord, port } = await open()
    await port.post(bubble('a'), { ...posting, replyTo: { id: '100000000000000099' } })
    expect(discord.screen(channelId)).toMatchObject([{ text: 'a', replyTo: undefined }])
  })

  test('with one key is posted once, however long the key is', async () => {
    const { discord, port } = await open()
    const key = 'a-key-that-is-longer-than-a-nonce-may-be'
    const [first, again] = [
      await port.post(bubble('a'), { ...posting, key }),
      await port.post(bubble('a'), { ...posting, key }),
    ]
    expect([first.id, discord.screen(channelId).length]).toEqual([again.id, 1])
  })

  test('has the button that opens a dialog below its other buttons', async () => {
    const { discord, port } = await open()
    const questions = [{ header: '', question: 'Why?', options: [], multiple: false, custom: true }]
    const buttons = [[{ label: 'Yes', data: 'y' }]]
    await port.post(bubble('?', { buttons, form: { token: 'f', label: 'Answer …', questions } }), posting)
    expect(discord.screen(channelId)[0]?.rows[1]).toEqual([
      { type: 'button', label: 'Answer …', customId: 'reply:f', style: 1 },
    ])
  })
})

test('an edit without buttons removes the buttons', async () => {
  const { discord, port } = await open()
  const ref = await port.post(bubble('a', { buttons: [[{ label: 'Yes', data: 'y' }]] }), posting)
  await port.edit?.(ref, bubble('b'), editing)
  expect(discord.screen(channelId)).toMatchObject([{ text: 'b', rows: [] }])
})

test('removing a deleted message succeeds', async () => {
  const { discord, port } = await open()
  const ref = await port.post(bubble('a'), posting)
  await port.remove?.(ref, editing)
  expect(discord.screen(channelId)).toEqual([])
  expect(await ending(port.remove?.(ref, editing))).toEqual({ type: 'done' })
})

test('a file has its name, its text and its key', async () => {
  const { discord, port } = await open()
  const file = { name: 'a.ts', mime: 'text/plain', bytes: Buffer.from('const ä = 1'), caption: 'code, *here*' }
  const first = await port.upload?.(file, { ...posting, silent: true })
  expect(await port.upload?.(file, posting)).toEqual(first)
  const [posted, ...more] = discord.screen(channelId)
  expect([posted, more]).toMatchObject([{ text: 'code, *here*', isSilent: true, files: [{ name: 'a.ts' }] }, []])
  expect(Buffer.from(posted?.files[0]?.bytes ?? []).toString()).toBe('const ä = 1')
})

test('a long caption is cut, never inside a surrogate pair', async () => {
  const { discord, port } = await open()
  const file = { name: 'a.ts', mime: 'text/plain', bytes: Buffer.from('x'), caption: `x${'👍'.repeat(1500)}` }
  await port.upload?.(file, posting)
  expect(discord.screen(channelId)[0]?.source).toBe(`x${'👍'.repeat(999)}`)
})

test("reactions on a person's message are set one at a time, within their rate limit", async () => {
  const { discord, port, clock } = await open()
  const ref = { id: discord.say(channelId, 'Go') }
  const shown = async (sign: 'seen' | 'done' | undefined): Promise<unknown> => {
    let isSet = false
    void port.react?.(ref, sign, editing).then(() => {
      isSet = true
    })
    await until(() => {
      void clock.advance(20)
      return isSet
    })
    await clock.advance(300)
    return discord.screen(channelId)[0]?.reactions
  }
  expect([await shown('seen'), await shown('done'), await shown(undefined)]).toEqual([['👀'], ['✅'], []])
  expect(discord.invalidCalls()).toBe(0)
})

test('the typing indicator shows and ends by itself', async () => {
  const { discord, port, clock } = await open()
  await port.typing?.(true, editing)
  await port.typing?.(false, editing)
  expect([discord.typing(channelId), discord.count('typing')]).toEqual([true, 1])
  await clock.advance(10_000)
  expect(discord.typing(channelId)).toBe(false)
})

const refused = (status: number, code: number, message = ''): DiscordFault => ({
  type: 'status',
  status,
  code,
  message,
})

test.each<[string, DiscordFault, string]>([
  ['a flood', { type: 'rate-limited', retryAfterS: 7 }, 'rate-limited'],
  ['a flood of others', { type: 'rate-limited', retryAfterS: 7, scope: 'shared' }, 'rate-limited'],
  ['a missing right', refused(403, 50013), 'refused'],
  ['a channel that is hidden', refused(403, 50001), 'refused'],
  ['a person who takes nothing', refused(403, 50007), 'refused'],
  ['words that a filter forbids', refused(400, 200000), 'refused'],
  ['a wrong form', refused(400, 50035, 'Invalid Form Body'), 'refused'],
  ['a channel that is gone', refused(404, 10003), 'gone'],
  ['a message that is gone', refused(404, 10008), 'gone'],
  ['too many edits of old messages', refused(403, 30046), 'unreachable'],
  ['a thread that was put away', refused(400, 50083), 'fixed'],
  ['an overload', refused(503, 130000), 'ambiguous'],
  ['a failure of theirs', refused(500, 0), 'ambiguous'],
  ['a gateway that gave up', { type: 'status', status: 504, isTaken: true }, 'ambiguous'],
  ['a web page', { type: 'html' }, 'ambiguous'],
  ['a break before', { type: 'refuse' }, 'ambiguous'],
  ['a break after', { type: 'accept-then-drop' }, 'ambiguous'],
])('%s fails by its kind', async (_, fault, type) => {
  const { port } = await open({ faults: [fault] })
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type, name: 'PortError' })
})

test.each<[string, DiscordFault, boolean]>([
  ['a channel that is hidden', refused(403, 50001), true],
  ['a person who takes nothing', refused(403, 50007), true],
  ['words that a filter forbids', refused(400, 200000), false],
  ['a wrong token', refused(401, 0), false],
])('%s: the error tells whether the chat takes nothing of the bot', async (_, fault, isOfChat) => {
  const { port } = await open({ faults: [fault] })
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'refused', isOfChat })
})

test.each([
  ['user', 'chat'],
  ['global', 'client'],
  ['shared', 'chat'],
] as const)('a flood of scope %s says for how long, for the %s', async (given, scope) => {
  const { port } = await open({ faults: [{ type: 'rate-limited', retryAfterS: 7, scope: given }] })
  const failure = await ending(port.post(bubble('a'), posting))
  expect(failure).toMatchObject({ type: 'rate-limited', scope })
  expect((failure as { retryAfterMs: number }).retryAfterMs).toBeGreaterThanOrEqual(7000)
})

test('a bucket that the headers report as empty gets no call', async () => {
  const { discord, port } = await open()
  for (const key of ['1', '2', '3', '4', '5']) await port.post(bubble(key), { ...posting, key })
  expect(await ending(port.post(bubble('6'), { ...posting, key: '6' }))).toMatchObject({ type: 'rate-limited' })
  expect([discord.count('post'), discord.invalidCalls()]).toEqual([5, 0])
})

test('an edit of a foreign message fails for good, and one of an old message is only limited in number', async () => {
  const { discord, port, clock } = await open()
  const theirs = { id: discord.say(channelId, 'x') }
  expect(await ending(port.edit?.(theirs, bubble('a'), editing))).toMatchObject({ type: 'fixed' })
  const ref = await port.post(bubble('a'), posting)
  await clock.advance(3_600_001)
  for (let edits = 0; edits < 10; edits++) {
    await port.edit?.(ref, bubble(`b${edits}`), editing)
    await clock.advance(1100)
  }
  expect(await ending(port.edit?.(ref, bubble('c'), editing))).toMatchObject({ type: 'unreachable' })
})

test.each(['stall', 'accept-then-stall'] as const)(
  '%s: the call times out, and its outcome is ambiguous',
  async (type) => {
    const { discord, port, clock } = await open({ faults: [{ type }] })
    const posted = ending(port.post(bubble('a'), posting))
    await until(() => discord.calls.length === 1)
    await clock.advance(30_000)
    expect(await posted).toMatchObject({ type: 'ambiguous' })
    expect(clock.pending).toBe(0)
  },
)

test('a failed connection is unreachable: the server received nothing', async () => {
  const { discord, port } = await open()
  await discord.close()
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'unreachable' })
})

test('a wrong token is refused, even after the client dropped it', async () => {
  const { rest, clock } = await start()
  rest.setToken('another-very-secret-token')
  const port = createDiscordPort({ rest, channelId, clock })
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'refused', message: /401/ })
  expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'refused', message: /token/ })
})

describe('a client that retries by itself', () => {
  test('posts nothing twice', async () => {
    const { discord, clock } = await start({ faults: [{ type: 'status', status: 504, isTaken: true, times: 2 }] })
    const rest = new REST({ api: discord.url }).setToken(token)
    const port = createDiscordPort({ rest, channelId, clock })
    expect(await ending(port.post(bubble('a'), posting))).toEqual({ type: 'done' })
    expect([discord.screen(channelId).length, discord.count('post')]).toEqual([1, 3])
  })

  test('and waits times out, and sends nothing late', async () => {
    const faults: readonly DiscordFault[] = [{ type: 'rate-limited', retryAfterS: 1 }]
    const { discord, clock } = await start({ faults })
    const port = createDiscordPort({ rest: new REST({ api: discord.url }).setToken(token), channelId, clock })
    const posted = ending(port.post(bubble('a'), posting))
    await until(() => discord.calls.length === 1 && discord.calls[0]?.status === 429)
    await clock.advance(30_000)
    const failure = await posted
    expect(failure).toMatchObject({ type: 'ambiguous' })
    tellsNothing(failure)
  })
})

describe('a thread', () => {
  test('is created from the prompt once, and receives all messages', async () => {
    const { discord, rest, clock } = await start()
    const messageId = discord.say(channelId, 'Why?')
    const make = () => createDiscordPort({ rest, channelId, clock, thread: { messageId, name: 'Why?\n\nSo' } })
    const port = make()
    const ref = await port.post(bubble('a'), { ...posting, replyTo: { id: messageId } })
    await port.typing?.(true, editing)
    await port.edit?.(ref, bubble('b'), editing)
    // After a restart it is found again.
    await make().edit?.(ref, bubble('c'), editing)
    expect(discord.threads(channelId)).toEqual([{ id: messageId, name: 'Why? So' }])
    expect(discord.screen(messageId)).toMatchObject([{ text: 'c', replyTo: undefined }])
    expect([discord.typing(messageId), discord.screen(channelId).length]).toEqual([true, 1])
    expect(discord.calls.filter(({ name }) => name === 'thread').map(({ code }) => code)).toEqual([undefined, 160004])
  })

  test.each([
    [`${'x'.repeat(99)}🚀`, 'x'.repeat(99)],
    ['half \ud83d', 'half \\ud83d'],
  ])('has a name without half of a surrogate pair: %#', async (name, sent) => {
    const { discord, rest, clock } = await start()
    const messageId = discord.say(channelId, 'Why?')
    const port = createDiscordPort({ rest, channelId, clock, thread: { messageId, name } })
    await port.post(bubble('a'), posting)
    expect(discord.threads(channelId)).toEqual([{ id: messageId, name: sent }])
  })

  test('falls back to the channel where threads are impossible', async () => {
    const { discord, rest, clock } = await start({ channels: [{ id: channelId, kind: 'direct' }] })
    const messageId = discord.say(channelId, 'Why?')
    const port = createDiscordPort({ rest, channelId, clock, thread: { messageId, name: '' } })
    await port.post(bubble('a'), { ...posting, replyTo: { id: messageId } })
    expect(discord.screen(channelId)).toMatchObject([{}, { text: 'a', replyTo: messageId }])
  })

  test('that fails otherwise is tried again with the next post', async () => {
    const faults: readonly DiscordFault[] = [{ call: 'thread', ...refused(400, 50035) }]
    const { discord, rest, clock } = await start({ faults })
    const messageId = discord.say(channelId, 'Why?')
    const port = createDiscordPort({ rest, channelId, clock, thread: { messageId, name: 'x' } })
    expect(await ending(port.post(bubble('a'), posting))).toMatchObject({ type: 'refused' })
    expect(await ending(port.post(bubble('a'), posting))).toEqual({ type: 'done' })
  })
})

test('the budget stays below what the headers allow', () => {
  const { perChat, editIntervalMs, growWindowMs = 0 } = discordLimits
  expect(perChat.perMs / perChat.calls).toBeGreaterThan(1000)
  expect([editIntervalMs, growWindowMs < 3_600_000]).toEqual([500, true])
})
