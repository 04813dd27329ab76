import { describe, expect, test } from 'vitest'
import { workspace } from './workspace.ts'

const markdown = (text: string) => [{ type: 'markdown', text }]
const button = (label: string, value = 'v', id = label) => ({
  ...{ type: 'button', action_id: id, value },
  text: { type: 'plain_text', text: label },
})
const actions = (...elements: readonly object[]) => [{ type: 'actions', elements }]

describe('a call', () => {
  test('needs the token and a known method', async () => {
    const { call } = await workspace()
    expect(await call('auth.test')).toMatchObject({ ok: true, user_id: 'U0BOT' })
    expect(await call('auth.test', {}, 'xoxb-other')).toMatchObject({ ok: false, error: 'invalid_auth', status: 200 })
    expect(await call('auth.test', {}, '')).toMatchObject({ error: 'not_authed' })
    expect(await call('chat.nothing')).toMatchObject({ error: 'unknown_method' })
  })

  test('needs a channel that exists and accepts it', async () => {
    const channels = [{ id: 'C1' }, { id: 'C2', isForeign: true }, { id: 'C3', isArchived: true }]
    const { call, slack } = await workspace({ channels })
    const post = (channel: string) => call('chat.postMessage', { channel, text: 'x' })
    expect((await post('C1')).ok).toBe(true)
    expect([(await post('C2')).error, (await post('C3')).error]).toEqual(['not_in_channel', 'is_archived'])
    expect((await post('C4')).error).toBe('channel_not_found')
    expect(() => slack.screen('C4')).toThrow(/no channel C4/)
  })
})

describe('a message', () => {
  test('is shown, updated and deleted', async () => {
    const { call, slack } = await workspace()
    const { ts } = await call('chat.postMessage', { channel: 'C1', text: 'a &lt; b' })
    expect(slack.screen('C1')).toMatchObject([{ ts, text: 'a < b', mode: 'plain', fallback: 'a &lt; b' }])
    await call('chat.update', { channel: 'C1', ts, text: 'other', blocks: markdown('**x**') })
    expect(slack.screen('C1')).toMatchObject([{ text: '**x**', mode: 'markdown', fallback: 'other', editedTimes: 1 }])
    await call('chat.delete', { channel: 'C1', ts })
    expect(slack.screen('C1')).toEqual([])
    expect((await call('chat.update', { channel: 'C1', ts, text: 'x' })).error).toBe('message_not_found')
  })

  test('of a person cannot be updated or deleted by the bot', async () => {
    const { call, slack } = await workspace()
    const ts = slack.say('C1', 'mine')
    expect((await call('chat.update', { channel: 'C1', ts, text: 'x' })).error).toBe('cant_update_message')
    expect((await call('chat.delete', { channel: 'C1', ts })).error).toBe('cant_delete_message')
  })

  test('goes to the thread of an existing message', async () => {
    const { call, slack, clock } = await workspace()
    const root = slack.say('C1', 'root')
    const { ts } = await call('chat.postMessage', { channel: 'C1', thread_ts: root, text: 'a' })
    await clock.advance(1000)
    await call('chat.postMessage', { channel: 'C1', thread_ts: ts, text: 'b' })
    expect(slack.screen('C1', root).map(({ threadTs }) => threadTs)).toEqual([undefined, root, root])
    expect((await call('chat.postMessage', { channel: 'C1', thread_ts: '1', text: 'a' })).error).toBe('ratelimited')
    await clock.advance(1000)
    expect((await call('chat.postMessage', { channel: 'C1', thread_ts: '1', text: 'a' })).error).toBe(
      'thread_not_found',
    )
  })

  test('notifies once in a thread and in private; an update does not notify', async () => {
    const { call, slack, clock } = await workspace()
    const root = slack.say('C1', 'root')
    await call('chat.postMessage', { channel: 'C1', text: 'to all' })
    expect(slack.notifications('C1')).toBe(0)
    await clock.advance(1000)
    const { ts } = await call('chat.postMessage', { channel: 'C1', thread_ts: root, text: 'a' })
    await call('chat.update', { channel: 'C1', ts, text: 'b' })
    await call('chat.postMessage', { channel: 'D1', text: 'a' })
    expect([slack.notifications('C1'), slack.notifications('D1')]).toEqual([1, 1])
  })
})

test.each<[string, object, string]>([
  ['nothing', {}, 'no_text'],
  ['Markdown that is too long', { blocks: markdown('x'.repeat(12_001)) }, 'msg_blocks_too_long'],
  [
    'two of them that are',
    { blocks: [...markdown('x'.repeat(6001)), ...markdown('x'.repeat(6000))] },
    'msg_blocks_too_long',
  ],
  ['Markdown beside text', { text: 'a', markdown_text: 'b' }, 'markdown_text_conflict'],
  ['no list', { blocks: '{' }, 'invalid_blocks_format'],
  ['an empty block', { blocks: markdown('') }, 'invalid_blocks'],
  ['blocks of no kind', { blocks: [{ type: 'button' }] }, 'invalid_blocks'],
  ['too many blocks', { blocks: Array.from({ length: 51 }, () => markdown('x')).flat() }, 'invalid_blocks'],
  [
    'too many buttons',
    { blocks: actions(...Array.from({ length: 26 }, (_, at) => button(String(at)))) },
    'invalid_blocks',
  ],
  ['a long label', { blocks: actions(button('x'.repeat(76))) }, 'invalid_blocks'],
  ['a long value', { blocks: actions(button('x', 'v'.repeat(2001))) }, 'invalid_blocks'],
  ['two buttons of one id', { blocks: actions(button('a', 'v', 'id'), button('b', 'v', 'id')) }, 'invalid_blocks'],
  ['a select without options', { blocks: actions({ type: 'static_select', options: [] }) }, 'invalid_blocks'],
])('a message is rejected: %s', async (_, fields, error) => {
  const { call, slack } = await workspace()
  expect(await call('chat.postMessage', { channel: 'C1', ...fields })).toMatchObject({ ok: false, error })
  expect(slack.screen('C1')).toEqual([])
})

test('an update takes less text than a post', async () => {
  const { call } = await workspace()
  const { ts } = await call('chat.postMessage', { channel: 'C1', text: 'x'.repeat(4001) })
  expect((await call('chat.update', { channel: 'C1', ts, text: 'x'.repeat(4001) })).error).toBe('msg_too_long')
})

test.each<[string, object, number]>([
  ['a text', { text: '<!channel> <@U1>' }, 2],
  ['a text that only looks like it', { text: '&lt;!channel&gt; @here' }, 0],
  ['names that are linked', { text: '@here', link_names: true }, 1],
  ['Markdown', { blocks: markdown('`<!here>` and [x](!channel)') }, 2],
  [
    'rich text',
    {
      blocks: [
        {
          type: 'rich_text',
          elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: '<!channel>' }] }],
        },
      ],
    },
    0,
  ],
])('mentions in %s are counted', async (_, fields, count) => {
  const { call, slack } = await workspace()
  expect((await call('chat.postMessage', { channel: 'C1', ...fields })).ok).toBe(true)
  expect(slack.mentions).toHaveLength(count)
})

describe('a rate limit', () => {
  test('allows a message a second in a channel, and says when to retry', async () => {
    const { call, clock } = await workspace()
    const post = (channel: string) => call('chat.postMessage', { channel, text: 'x' })
    expect([(await post('C1')).ok, (await post('C2')).ok]).toEqual([true, true])
    expect(await post('C1')).toMatchObject({ status: 429, retryAfter: '1', error: 'ratelimited' })
    await clock.advance(1000)
    expect((await post('C1')).ok).toBe(true)
  })

  test("counts a method's calls across all channels", async () => {
    const { call } = await workspace()
    const { ts } = await call('chat.postMessage', { channel: 'C1', text: 'x' })
    for (let count = 0; count < 50; count++) await call('chat.update', { channel: 'C1', ts, text: 'y' })
    expect(await call('chat.update', { channel: 'C1', ts, text: 'y' })).toMatchObject({ status: 429, retryAfter: '60' })
  })
})

test('a file is uploaded in three steps, its bytes to a secret address', async () => {
  const { call, slack } = await workspace()
  const { upload_url: url, file_id: id } = await call('files.getUploadURLExternal', { filename: 'a.ts', length: '3' })
  const files = [{ id, title: 'a.ts' }]
  const complete = () => call('files.completeUploadExternal', { files, channel_id: 'C1', initial_comment: 'see' })
  expect((await complete()).error).toBe('file_not_found')
  expect((await fetch(String(url), { method: 'POST', body: 'toolong' })).status).toBe(400)
  expect((await fetch(String(url), { method: 'POST', body: 'abc' })).status).toBe(200)
  expect((await complete()).ok).toBe(true)
  const [shown] = slack.screen('C1')
  expect(shown).toMatchObject({ text: 'see', file: { name: 'a.ts' } })
  expect(await call('files.info', { file: id })).toMatchObject({
    file: { shares: { public: { C1: [{ ts: shown?.ts }] } } },
  })
})

test("a thread's status is cleared after two minutes or by an answer", async () => {
  const { call, slack, clock } = await workspace()
  const root = slack.say('C1', 'root')
  const place = { channel_id: 'C1', thread_ts: root }
  const set = (status: string) => call('assistant.threads.setStatus', { ...place, status })
  await set('thinks')
  await clock.advance(119_999)
  expect(slack.status('C1', root)).toBe('thinks')
  await clock.advance(1)
  expect(slack.status('C1', root)).toBe('')
  await set('thinks')
  await call('chat.postMessage', { channel: 'C1', thread_ts: root, text: 'a' })
  expect(slack.status('C1', root)).toBe('')
  expect((await call('agents.sessions.setStatus', { ...place, status: 'odd' })).error).toBe('invalid_status')
})

test("a thread's status can mention people", async () => {
  const { slack, call } = await workspace()
  const thread_ts = slack.say('C1', 'root')
  await call('assistant.threads.setStatus', { channel_id: 'C1', thread_ts, status: 'asks <@U1>' })
  expect(slack.mentions).toEqual(['<@U1>'])
})
