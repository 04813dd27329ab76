import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readBody, readForm, readMetadata, readRequest, readText } from '../src/inbound.ts'

test.each([
  ['a &lt; b &amp;&amp; c &gt; d', 'a < b && c > d'],
  ['see <https://a.b/?x=1&amp;y=2|this page>', 'see https://a.b/?x=1&y=2'],
  ['<https://a.b>', 'https://a.b'],
  ['<mailto:a@b.c|a@b.c>', 'a@b.c'],
  ['<@U1> and <@U2|ada>', '@U1 and @ada'],
  ['<#C1|general> and <#C2>', '#general and #C2'],
  ['<!here> <!subteam^S1|@team>', '@here @team'],
  ['if (a &lt; b) <b', 'if (a < b) <b'],
])('%s is read as %s', (written, read) => {
  expect(readText(written)).toBe(read)
})

const said = { type: 'message', channel: 'C1', ts: '1.1', user: 'U1', text: '<@UBOT>  /stop now' }
const body = (event: object) => ({
  type: 'event_callback',
  event_id: 'E1',
  team_id: 'T1',
  authorizations: [{ user_id: 'UBOT' }],
  event: { ...said, ...event },
})

describe('a message', () => {
  test("to the bot loses the mention and has its author's workspace", () => {
    expect(readBody(body({ user_team: 'T2' }))).toEqual({
      id: 'C1/1.1',
      received: {
        type: 'text',
        text: '/stop now',
        isCommand: true,
        isAddressed: true,
        isMention: true,
        chat: { id: 'C1', kind: 'shared', thread: '1.1' },
        actor: { id: 'U1', name: 'U1', teamID: 'T2' },
        messageRef: { id: '1.1', postedAt: 1100 },
      },
    })
  })

  test('has the same id in each event about it', () => {
    const ids = [body({}), body({ type: 'app_mention' })].map((one) => readBody({ ...one, event_id: 'E2' })?.id)
    expect(ids).toEqual(['C1/1.1', 'C1/1.1'])
  })

  test('that was written with /me counts, and so does a mention in it', () => {
    const { received } = readBody(body({ subtype: 'me_message', text: 'asks <@UBOT> for tea' })) ?? {}
    expect(received).toMatchObject({ type: 'text', text: 'asks for tea', isMention: true, isAddressed: true })
  })

  test.each([
    ['a deleted file', { mode: 'tombstone' }, 'tombstone:F1'],
    ['a file beyond the limit of the plan', { mode: 'hidden_by_limit' }, 'hidden_by_limit:F1'],
    ['a file of another service', { mode: 'external', url_private: 'https://drive.example/x' }, 'external:F1'],
    ['a file that is marked as external alone', { is_external: true }, 'external:F1'],
    ['a file of Slack', { mode: 'hosted', is_external: false }, 'F1'],
  ])('keeps %s, with a ref that tells whether Slack provides it', (_, more, ref) => {
    const alone = body({ text: undefined, subtype: 'file_share', files: [{ id: 'F1', name: 'a.txt', ...more }] })
    expect(readBody(alone)?.received).toMatchObject({ text: '', files: [{ ref, name: 'a.txt' }] })
  })

  test('with a voice clip has audio, and a video stays one', () => {
    const clip = {
      ...{ id: 'F1', name: 'audio_message.mp4', mimetype: 'video/mp4', subtype: 'slack_audio', duration_ms: 2500 },
    }
    const files = [clip, { ...clip, id: 'F2', mimetype: 'audio/webm' }, { ...clip, id: 'F3', subtype: 'slack_video' }]
    expect(readBody(body({ text: undefined, subtype: 'file_share', files }))?.received).toMatchObject({
      files: [{ mime: 'audio/mp4', seconds: 2.5 }, { mime: 'audio/webm' }, { mime: 'video/mp4' }],
    })
  })

  test('without text is ignored', () => {
    expect(readBody(body({ text: '<@UBOT>' }))?.received).toBeUndefined()
    expect(readBody(body({ text: undefined, subtype: 'file_share' }))?.received).toBeUndefined()
  })
})

// Elements: https://docs.slack.dev/reference/block-kit/block-elements
test.each<[string, object, readonly string[] | undefined]>([
  ['a button', { type: 'button', value: 'v' }, ['v']],
  ['a button without a value', { type: 'button' }, undefined],
  ['a select', { type: 'static_select', selected_option: { value: 'a' } }, ['a']],
  ['a select that was emptied', { type: 'static_select', selected_option: null }, undefined],
  ['checkboxes', { type: 'checkboxes', selected_options: [{ value: 'a' }, { value: 'b' }] }, ['a', 'b']],
  ['people', { type: 'multi_users_select', selected_users: ['U1', 'U2'] }, ['U1', 'U2']],
  ['a channel', { type: 'channels_select', selected_channel: 'C1' }, ['C1']],
  ['a date', { type: 'datepicker', selected_date: '2026-01-01' }, ['2026-01-01']],
  ['a time', { type: 'datetimepicker', selected_date_time: 1700000000 }, ['1700000000']],
  ['a formatted text', { type: 'rich_text_input', rich_text_value: {} }, undefined],
])("the host's own controls are presses: %s", (_, action, values) => {
  const place = { channel: { id: 'C1' }, message: { ts: '1.1', thread_ts: '1.0' }, trigger_id: 't' }
  const control = { action_id: 'theirs', block_id: 'b', ...action }
  const read = readBody({ type: 'block_actions', user: { id: 'U1' }, ...place, actions: [control] })
  expect(read?.received).toMatchObject({ type: 'press', token: 'theirs', isForeign: true, messageRef: { id: '1.1' } })
  expect(read?.received).toMatchObject({ chat: { id: 'C1', thread: '1.0' }, actor: { id: 'U1' } })
  expect(read?.received && 'values' in read.received ? read.received.values : undefined).toEqual(values && [values])
})

// Its payload has no `message`: https://docs.slack.dev/interactivity/handling-user-interaction#payloads
test('so is one below a message that only one person sees', () => {
  const container = { type: 'message', message_ts: '1.2', channel_id: 'C1', is_ephemeral: true, thread_ts: '1.0' }
  const place = { channel: { id: 'C1' }, container, trigger_id: 't' }
  const actions = [{ action_id: 'theirs', block_id: 'b', value: 'v' }]
  const read = readBody({ type: 'block_actions', user: { id: 'U1' }, ...place, actions })
  expect(read?.received).toMatchObject({ chat: { id: 'C1', thread: '1.0' }, messageRef: { id: '1.2' } })
})

test('dialogs of other apps, and controls in them, are ignored', () => {
  const user = { id: 'U1' }
  const place = { channel: { id: 'C1' }, message: { ts: '1.1' }, trigger_id: 't' }
  const acted = (action: object) => readBody({ type: 'block_actions', user, ...place, actions: [action] })
  expect(acted({ action_id: 'reply.form', block_id: 'b', value: '{"x":1}' })).toMatchObject({ received: undefined })
  const view = { id: 'V1', callback_id: 'theirs', private_metadata: '', state: { values: {} } }
  expect(readBody({ type: 'view_submission', user, view })).toEqual({ id: 'V1', received: undefined })
  expect(readBody({ type: 'block_actions', user, view, actions: [] })?.received).toBeUndefined()
  expect(readBody({ type: 'shortcut' })?.received).toBeUndefined()
})

// https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload: a state has the fields of the app.
test('a dialog of the host is passed over, whatever its fields', () => {
  const user = { id: 'U1' }
  const values = {
    day: { pick: { type: 'datepicker', selected_date: '2026-01-01' } },
    team: { pick: { type: 'multi_users_select', selected_users: ['U1'] } },
    age: { pick: { type: 'number_input', value: 7 } },
    notes: { pick: { type: 'rich_text_input', rich_text_value: { type: 'rich_text', elements: [] } } },
  }
  const views = [
    { id: 'V1', callback_id: 'theirs', private_metadata: '', state: { values } },
    { id: 'V2', callback_id: 'theirs', state: { values } },
    { id: 'V3' },
  ]
  for (const view of views) {
    expect(readBody({ type: 'view_submission', user, view })).toEqual({ id: view.id, received: undefined })
    expect(readBody({ type: 'view_closed', user, view })?.received).toBeUndefined()
  }
})

describe('an event without an id', () => {
  test('is read all the same', () => {
    const { event_id: _, ...given } = body({})
    expect(readBody(given)).toEqual(readBody(body({})))
  })

  test('is a Stop only once', () => {
    const stop = (event_ts: string) => {
      const event = { type: 'agent_session_stopped', channel: 'D1', thread_ts: '1.1', user: 'U1', event_ts }
      return readBody({ type: 'event_callback', event })
    }
    expect(stop('2.1')).toMatchObject({ received: { type: 'stop', chat: { id: 'D1', thread: '1.1' } } })
    const ids = ['2.1', '2.1', '3.1'].map((at) => stop(at)?.id)
    expect(new Set(ids).size).toBe(2)
  })
})

describe('any input', () => {
  const event = fc.record({
    type: fc.constantFrom('message', 'app_mention', 'agent_session_stopped', 'x'),
    channel: fc.anything(),
    ts: fc.anything(),
    text: fc.anything(),
    user: fc.anything(),
  })
  const bodies = fc.oneof(
    fc.anything(),
    fc.record({ type: fc.constant('event_callback'), event_id: fc.anything(), event }),
    fc.record({
      type: fc.constantFrom('block_actions', 'view_submission'),
      user: fc.anything(),
      actions: fc.anything(),
      view: fc.anything(),
    }),
  )

  test('is read or skipped', () => {
    fc.assert(
      fc.property(bodies, (value) => void readBody(value)),
      { numRuns: 1000 },
    )
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => void readRequest(bytes)),
      { numRuns: 300 },
    )
    const texts = fc.oneof(fc.string(), fc.json())
    fc.assert(
      fc.property(texts, (text) => {
        readForm(text)
        readMetadata(text)
        readRequest(new TextEncoder().encode(`payload=${text}`))
        expect(readText(text).length).toBeLessThanOrEqual(text.length + 1)
      }),
      { numRuns: 500 },
    )
  })
})

// https://docs.slack.dev/interactivity/handling-user-interaction: a trigger opens a dialog for three seconds.
test('the id of a press, which is stored, is not the trigger', () => {
  const actions = [{ action_id: 'reply.button.0', block_id: 'b', value: 'r~t' }]
  const place = { channel: { id: 'C1' }, message: { ts: '1.1' }, trigger_id: '123.456.abc' }
  const press = readBody({ type: 'block_actions', user: { id: 'U1' }, ...place, actions })
  expect(press?.id).toMatch(/^[\w-]{43}$/)
  expect(press?.id).toBe(readBody({ type: 'block_actions', user: { id: 'U1' }, ...place, actions })?.id)
})

// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload: an ephemeral message is in `container` alone.
test.each<[string, object, string]>([
  ['its message', { message: { ts: '1.1' }, container: { message_ts: '1.1' } }, '1.1'],
  ['a message that one person sees', { container: { message_ts: '1.2', is_ephemeral: true } }, '1.2'],
])('a press names %s', (_, place, id) => {
  const actions = [{ action_id: 'reply.button.0', block_id: 'b', value: 'r~t' }]
  const body = { type: 'block_actions', user: { id: 'U1' }, channel: { id: 'C1' }, trigger_id: 't', ...place, actions }
  expect(readBody(body)?.received).toMatchObject({ type: 'press', token: 'r~t', messageRef: { id } })
})

// https://docs.slack.dev/reference/events/message/message_changed: the new text is in `message`.
test('an edited message changes nothing: what was taken stays as it was heard', () => {
  const message = { type: 'message', user: 'U1', text: 'yes', ts: '1.1', edited: { user: 'U1', ts: '1.2' } }
  const event = { type: 'message', subtype: 'message_changed', channel: 'C1', ts: '1.2', message }
  expect(readBody({ type: 'event_callback', event_id: 'Ev1', event })?.received).toBeUndefined()
})
