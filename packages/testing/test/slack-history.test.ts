import { expect, test } from 'vitest'
import { workspace } from './workspace.ts'

const metadata = JSON.stringify({ event_type: 'a', event_payload: { key: 'k' } })

// https://docs.slack.dev/reference/methods/conversations.history
test('the history has the newest messages first, without answers in threads', async () => {
  const { call, slack } = await workspace()
  const ts = slack.say('C1', 'one')
  await call('chat.postMessage', { channel: 'C1', text: 'two', metadata })
  await call('chat.postMessage', { channel: 'C2', text: 'elsewhere' })
  await call('chat.postMessage', { channel: 'C1', text: 'in the thread', thread_ts: ts })
  const { messages, has_more } = await call('conversations.history', { channel: 'C1', include_all_metadata: true })
  expect([messages, has_more]).toMatchObject([
    [{ text: 'two', metadata: { event_payload: { key: 'k' } } }, { text: 'one' }],
    false,
  ])
  const few = await call('conversations.history', { channel: 'C1', limit: 1 })
  expect(few).toMatchObject({ messages: [{ text: 'two' }], has_more: true })
  expect(JSON.stringify(few)).not.toContain('event_type')
  expect(await call('conversations.history', { channel: 'C1', oldest: '99999999999' })).toMatchObject({ messages: [] })
})

// https://docs.slack.dev/reference/methods/conversations.replies
test('the replies have the first message and then its answers', async () => {
  const { call, slack } = await workspace()
  const ts = slack.say('C1', 'one')
  await call('chat.postMessage', { channel: 'C1', text: 'two', thread_ts: ts })
  expect(await call('conversations.replies', { channel: 'C1', ts })).toMatchObject({
    messages: [{ text: 'one' }, { text: 'two' }],
  })
  expect(await call('conversations.replies', { channel: 'C1', ts: '1.1' })).toMatchObject({ error: 'thread_not_found' })
})

// `ConversationsRepliesResponse` of `@slack/web-api`, and `events/message.d.ts` of `@slack/types`.
test('the replies say who streams a message, and how far it got', async () => {
  const { call, slack } = await workspace()
  const thread_ts = slack.say('C1', 'one')
  const stream = { channel: 'C1', thread_ts, recipient_user_id: 'U1', recipient_team_id: 'T0FAKE', markdown_text: 'It' }
  const { ts } = await call('chat.startStream', stream)
  await call('chat.startStream', stream)
  await call('chat.stopStream', { channel: 'C1', ts })
  const { user_id: user, bot_id } = await call('auth.test', {})
  const { messages } = await call('conversations.replies', { channel: 'C1', ts: thread_ts })
  expect(messages).toMatchObject([
    { text: 'one' },
    { user, bot_id, streaming_state: 'completed' },
    { user, bot_id, streaming_state: 'in_progress' },
  ])
  expect(JSON.stringify(messages).match(/streaming_state/g)).toHaveLength(2)
})

test('reading takes a scope, and metadata a type and a payload', async () => {
  const { call } = await workspace({ features: { history: false } })
  expect(await call('conversations.history', { channel: 'C1' })).toMatchObject({ error: 'missing_scope' })
  const odd = { channel: 'C1', text: 'x', metadata: '{"event_type":"a"}' }
  expect(await call('chat.postMessage', odd)).toMatchObject({ error: 'invalid_metadata_format' })
})
