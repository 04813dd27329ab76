import type { Fields } from '../fields.ts'
import type { SlackControl } from './blocks.ts'
import type { Channel, Post, SlackPerson } from './chat.ts'
import type { SlackState } from './state.ts'
import type { SlackView } from './view.ts'

/** An event as sent to the app. */
export function eventBody({ team, bot, clock, nextId }: SlackState, event: Fields): Fields {
  return {
    type: 'event_callback',
    team_id: team,
    api_app_id: 'A0FAKE',
    event,
    event_id: nextId('Ev'),
    event_time: Math.floor(clock.now() / 1000),
    authorizations: [{ team_id: team, user_id: bot, is_bot: true }],
  }
}

interface Action {
  readonly channel: Channel
  readonly post: Post
  readonly from: SlackPerson
  /** With its own value for a button, and that of the picked option for a select. */
  readonly control: SlackControl
  readonly trigger: string
}

/** A pressed button, or the option of a select that has the control's value, as sent to the app. */
export function actionBody({ team, bot }: SlackState, { channel, post, from, control, trigger }: Action): Fields {
  const { ts, threadTs, blocks, fallback } = post
  const { value } = control
  const thread = threadTs === undefined ? {} : { thread_ts: threadTs }
  const option = control.options.find((one) => one.value === value)
  const picked =
    control.type === 'button'
      ? { type: 'button', text: plainText(control.label), value }
      : { type: 'static_select', selected_option: { text: plainText(option?.label ?? ''), value } }
  return {
    type: 'block_actions',
    user: userFields(from, team),
    team: { id: team },
    container: { type: 'message', message_ts: ts, channel_id: channel.id, ...thread },
    trigger_id: trigger,
    channel: { id: channel.id },
    message: { type: 'message', user: bot, ts, ...thread, text: fallback, blocks },
    actions: [{ action_id: control.actionId, block_id: control.blockId, ...picked }],
  }
}

interface Submission {
  readonly view: SlackView
  readonly from: SlackPerson
  readonly values: Fields
  readonly trigger: string
}

/** A submitted dialog as sent to the app. */
export function submissionBody({ team }: SlackState, { view, from, values, trigger }: Submission): Fields {
  return {
    type: 'view_submission',
    team: { id: team },
    user: userFields(from, team),
    trigger_id: trigger,
    view: { private_metadata: '', callback_id: '', ...view.source, id: view.id, state: { values } },
  }
}

interface Command {
  readonly channel: Channel
  readonly from: SlackPerson
  /** With the slash. */
  readonly name: string
  readonly text: string
  readonly trigger: string
}

/**
 * A slash command as sent to the app.
 * https://docs.slack.dev/interactivity/implementing-slash-commands#app_command_handling
 */
export function commandBody({ team }: SlackState, { channel, from, name, text, trigger }: Command): Fields {
  const { id, name: user } = userFields(from, team)
  return {
    token: 'verification-token',
    team_id: team,
    team_domain: 'example',
    channel_id: channel.id,
    channel_name: channel.isDirect ? 'directmessage' : 'general',
    user_id: id,
    user_name: user,
    command: name,
    text,
    api_app_id: 'A0FAKE',
    is_enterprise_install: 'false',
    response_url: 'https://hooks.slack.com/commands/T/1/x',
    trigger_id: trigger,
  }
}

function userFields({ id, name = id }: SlackPerson, team: string): Fields {
  return { id, username: name.toLowerCase(), name, team_id: team }
}

function plainText(text: string): Fields {
  return { type: 'plain_text', text }
}
