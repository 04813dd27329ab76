import { describe, expect, test } from 'vitest'
import { readDiscord } from '../src/internal.ts'
import { channelId, start, token } from './guild.ts'

const messages = `/channels/${channelId}/messages`
const button = { type: 2, style: 2, label: 'Yes', custom_id: 'y' }
const row = (...components: object[]) => ({ type: 1, components })

test('the screen shows a post as rendered, the response returns it as sent', async () => {
  const { discord, call } = await start()
  const { status, body } = await call('POST', messages, { content: '**a** `b`', components: [row(button)] })
  expect([status, body.content, body.channel_id]).toEqual([200, '**a** `b`', channelId])
  expect(discord.screen(channelId)).toMatchObject([
    { messageId: body.id, from: 'bot', text: 'a b', source: '**a** `b`', rows: [[{ label: 'Yes', customId: 'y' }]] },
  ])
  expect(String(body.id)).toMatch(/^\d{19}$/)
})

test('a post in the middle of a millisecond gets the id of that millisecond', async () => {
  const { clock, call } = await start()
  await clock.advance(0.5)
  const { status, body } = await call('POST', messages, { content: 'a' })
  expect([status, new Date(Number(BigInt(String(body.id)) >> 22n) + Date.UTC(2015, 0, 1)).toISOString()]).toEqual([
    200,
    new Date(clock.now()).toISOString(),
  ])
})

describe('rejected with its error code:', () => {
  const select = { type: 3, custom_id: 's', options: [{ label: 'a', value: 'a' }] }
  test.each<[string, object, number, string?]>([
    ['nothing', {}, 50006],
    ['white space', { content: ' \n' }, 50006],
    ['2,001 letters', { content: 'x'.repeat(2001) }, 50035, 'content'],
    ['a long nonce', { content: 'a', nonce: 'x'.repeat(26) }, 50035, 'nonce'],
    ['an answer to what is gone', { content: 'a', message_reference: { message_id: '1' } }, 50035, 'message_reference'],
    ['six rows', { content: 'a', components: Array(6).fill(row(button)) }, 50035, 'components'],
    ['six buttons', { content: 'a', components: [row(...Array(6).fill(button))] }, 50035, 'components'],
    ['one id twice', { content: 'a', components: [row(button, button)] }, 50035, 'components'],
    ['an empty row', { content: 'a', components: [row()] }, 50035, 'components'],
    ['a button of no row', { content: 'a', components: [button] }, 50035, 'components'],
    ['a long label', { content: 'a', components: [row({ ...button, label: 'x'.repeat(81) })] }, 50035, 'components'],
    ['a long id', { content: 'a', components: [row({ ...button, custom_id: 'x'.repeat(101) })] }, 50035, 'components'],
    ['a select beside a button', { content: 'a', components: [row(select, button)] }, 50035, 'components'],
    ['a select of nothing', { content: 'a', components: [row({ ...select, options: [] })] }, 50035, 'components'],
    ['more than there is', { content: 'a', components: [row({ ...select, max_values: 2 })] }, 50035, 'components'],
  ])('%s', async (_, body, code, field) => {
    const { discord, call } = await start()
    const answer = await call('POST', messages, body)
    expect([answer.status, answer.body.code]).toEqual([400, code])
    if (field) expect(Object.keys(answer.body.errors ?? {})).toEqual([field])
    expect(discord.screen(channelId)).toEqual([])
  })

  // https://github.com/discord/discord-api-docs/issues/6561
  test('half of a surrogate pair', async () => {
    const { discord, call } = await start()
    const components = [row({ ...button, custom_id: 'x\ud83d' })]
    expect(await call('POST', messages, { content: 'a', components })).toMatchObject({ status: 500 })
    expect(discord.screen(channelId)).toEqual([])
  })

  test('commands of another form, which replace none', async () => {
    const { discord, call } = await start()
    const path = '/applications/700000000000000001/commands'
    await call('PUT', path, [{ name: 'ask', description: 'Asks.' }])
    for (const commands of [[{ name: 'Two Words', description: 'Asks.' }], { name: 'ask' }])
      expect(await call('PUT', path, commands)).toMatchObject({ status: 400, body: { code: 50035 } })
    expect(discord.commands).toEqual(['ask'])
  })

  test('a wrong token, an unknown channel and a closed one', async () => {
    const { discord, call } = await start({ channels: [{ id: channelId }] })
    const codes = [
      await call('POST', messages, { content: 'a' }, 'wrong'),
      await call('POST', '/channels/100000000000000002/messages', { content: 'a' }),
    ]
    discord.shut(channelId)
    codes.push(await call('POST', messages, { content: 'a' }), await call('GET', '/nothing'))
    expect(codes.map(({ status, body }) => [status, body.code])).toEqual([
      [401, 0],
      [404, 10003],
      [403, 50013],
      [404, 0],
    ])
    expect(discord.calls).toHaveLength(2)
  })
})

test('an enforced nonce prevents a second post for five minutes', async () => {
  const { discord, clock, call, post } = await start()
  const body = { content: 'a', nonce: 'n', enforce_nonce: true }
  const first = await post(body)
  expect(await post({ ...body, content: 'b' })).toBe(first)
  const elsewhere = await call('POST', '/channels/100000000000000002/messages', body)
  expect(elsewhere.body).toMatchObject({ id: first, channel_id: channelId })
  expect(await post({ content: 'c', nonce: 'n' })).not.toBe(first)
  await clock.advance(300_000)
  expect(await post(body)).not.toBe(first)
  expect(discord.screen(channelId).map(({ text }) => text)).toEqual(['a', 'c', 'a'])
})

test('an edit changes only the given fields, does not notify, and is rejected after many edits of messages older than an hour', async () => {
  const { discord, clock, call, post } = await start()
  const id = await post({ content: 'a', components: [row(button)] })
  await call('PATCH', `${messages}/${id}`, { content: 'b' })
  expect(discord.screen(channelId)).toMatchObject([{ text: 'b', rows: [[{}]], editedTimes: 1 }])
  await call('PATCH', `${messages}/${id}`, { components: [] })
  expect(discord.screen(channelId)).toMatchObject([{ text: 'b', rows: [], editedTimes: 2 }])
  expect(discord.notifications(channelId)).toBe(1)
  await clock.advance(3_600_001)
  for (let edits = 0; edits < 10; edits++) {
    expect((await call('PATCH', `${messages}/${id}`, { content: `c${edits}` })).status).toBe(200)
    await clock.advance(1100)
  }
  expect(await call('PATCH', `${messages}/${id}`, { content: 'c' })).toMatchObject({
    status: 403,
    body: { code: 30046 },
  })
  const theirs = discord.say(channelId, 'x')
  expect((await call('PATCH', `${messages}/${theirs}`, { content: 'c' })).body.code).toBe(50005)
  expect((await call('DELETE', `${messages}/${theirs}`)).body.code).toBe(50013)
  expect((await call('DELETE', `${messages}/${id}`)).status).toBe(204)
  expect((await call('DELETE', `${messages}/${id}`)).body.code).toBe(10008)
})

test('a silent post does not notify, and mentions notify only those that are allowed', async () => {
  const { discord, post } = await start()
  const content = '@everyone <@800000000000000001> <@&800000000000000002> `@here`'
  await post({ content, flags: 1 << 12, allowed_mentions: { parse: [] } })
  expect([discord.notifications(channelId), discord.mentions(channelId)]).toEqual([0, []])
  await post({ content, allowed_mentions: { parse: ['users'] } })
  await post({ content: '<@1>', allowed_mentions: { users: ['1'] } })
  expect([discord.notifications(channelId), discord.mentions(channelId)]).toEqual([
    2,
    ['<@800000000000000001>', '<@1>'],
  ])
  await post({ content: '@everyone' })
  expect(discord.mentions(channelId)).toContain('@everyone')
})

test('a message can have one thread, and a post unarchives it', async () => {
  const { discord, call } = await start()
  const id = discord.say(channelId, 'Why?')
  const make = (body: object, at = id) => call('POST', `${messages}/${at}/threads`, body)
  expect((await make({ name: '' })).body.code).toBe(50035)
  expect((await make({ name: 'Why' })).body).toMatchObject({ id, parent_id: channelId })
  expect((await make({ name: 'Why' })).body.code).toBe(160004)
  const { body } = await call('POST', `/channels/${id}/messages`, { content: 'a' })
  discord.archive(id)
  const edit = (): Promise<{ body: object }> => call('PATCH', `/channels/${id}/messages/${body.id}`, { content: 'b' })
  expect((await edit()).body).toMatchObject({ code: 50083 })
  await call('POST', `/channels/${id}/messages`, { content: 'c' })
  expect((await edit()).body).toMatchObject({ content: 'b' })
  expect(discord.threads(channelId)).toEqual([{ id, name: 'Why' }])
})

test('a file is uploaded as multipart form data', async () => {
  const { discord } = await start()
  const form = new FormData()
  form.append('payload_json', JSON.stringify({ content: 'a file' }))
  form.append('files[0]', new Blob(['const ä = 1']), 'a.ts')
  const headers = { authorization: `Bot ${token}` }
  await fetch(`${discord.url}/v10${messages}`, { method: 'POST', headers, body: form })
  const [message] = discord.screen(channelId)
  expect([message?.text, message?.files[0]?.name]).toEqual(['a file', 'a.ts'])
  expect(Buffer.from(message?.files[0]?.bytes ?? []).toString()).toBe('const ä = 1')
})

test('reactions are added and removed', async () => {
  const { discord, clock, call } = await start()
  const id = discord.say(channelId, 'x')
  const route = (emoji: string) => `${messages}/${id}/reactions/${encodeURIComponent(emoji)}/@me`
  await call('PUT', route('👀'))
  expect(discord.screen(channelId)[0]?.reactions).toEqual(['👀'])
  await clock.advance(250)
  await call('DELETE', route('👀'))
  expect(discord.screen(channelId)[0]?.reactions).toEqual([])
  await clock.advance(250)
  expect((await call('PUT', route('nothing'))).body.code).toBe(10014)
})

test.each([
  ['**b** *i* __u__ ~~s~~ ||x||', 'b i u s x'],
  ['***both***', 'both'],
  ['snake_case_name and 2 * 3 * 4', 'snake_case_name and 2 * 3 * 4'],
  ['\\*a\\* \\`b\\`', '*a* `b`'],
  ['# Head\n-# small\ntext', 'Head\nsmall\ntext'],
  ['- a\n  - b\n1. c', '• a\n  • b\n1. c'],
  ['> q\n> r\nt', 'q\nr\nt'],
  ['>>> all\nof it', 'all\nof it'],
  ['```ts\na\n\nb\n```', 'a\n\nb'],
  ['[t](https://a.b) <https://c.d> https://e.f_g_', 't https://c.d https://e.f_g_'],
  ['[https://a.b](https://c.d)', '[https://a.b](https://c.d)'],
  ['<@123> <#1>', '@mention @mention'],
])('%j reads %j', (content, text) => {
  expect(readDiscord(content)).toBe(text)
})
