import { TestingError } from '../error.ts'
import type { Fields } from '../fields.ts'
import { shownButton, shownPlace, shownPost } from '../platform/fake.ts'
import type { SlackControl } from './blocks.ts'
import type { Channel, Post, SlackPerson } from './chat.ts'
import { limits } from './limits.ts'
import { Refusal } from './refusal.ts'
import { type SlackPersonFile, shareFile } from './shared-file.ts'
import { addPost, replacePost, type SlackState } from './state.ts'
import { isLive } from './stream.ts'
import { type SlackView, submittedState } from './view.ts'
import { actionBody, commandBody, eventBody, submissionBody } from './wire.ts'

/** Which person acts. */
export interface SlackFrom {
  /** Default the person U1. */
  readonly from?: SlackPerson
}

/** Which person writes, and how the message came about. */
export interface SlackSay extends SlackFrom {
  /** The `ts` of the thread's first message. Default: outside of threads. */
  readonly threadTs?: string
  /** Whether it begins with a mention of the bot. Default false. */
  readonly mention?: boolean
  /** The text of another message that is forwarded with this one. */
  readonly forwards?: string
  /** A file. The text may then be empty. */
  readonly file?: SlackPersonFile
  /** Several files in one message. Default: that of `file`. */
  readonly files?: readonly SlackPersonFile[]
}

/** The actions of people in the channels. An action that a person couldn't do throws a `TestingError`. */
export interface SlackPeople {
  /** Writes a message, which the app receives. Returns its `ts`. */
  say(channel: string, text: string, options?: SlackSay): string
  /** Presses the button with this text. Resolves with whether the app acknowledged it in time. */
  press(channel: string, ts: string, label: string, options?: SlackFrom): Promise<boolean>
  /**
   * Picks the option with this label of the message's selects. Resolves with whether the app acknowledged it in time.
   */
  choose(channel: string, ts: string, option: string, options?: SlackFrom): Promise<boolean>
  /**
   * Gives a slash command, as in `command('C1', '/ask', 'Why?')`. Resolves with whether it was acknowledged in time.
   */
  command(channel: string, name: string, text?: string, options?: SlackFrom): Promise<boolean>
  /** The dialog that a person has open. Undefined if none is. Default: the person U1. */
  view(user?: string): SlackView | undefined
  /**
   * Fills in the open dialog, field by field, with texts or option labels, and submits it, which closes it. Resolves
   * with whether the app acknowledged it in time.
   */
  submit(answers: readonly (string | readonly string[])[], options?: SlackFrom): Promise<boolean>
  /**
   * Presses Stop in a thread where the agent is working. Resolves with whether the app finally acknowledged the event.
   */
  stop(channel: string, threadTs: string, options?: SlackFrom): Promise<boolean>
  /** Deletes a message. The app gets no event. */
  remove(channel: string, ts: string): void
}

const defaultPerson: SlackPerson = { id: 'U1', name: 'Ada' }

/** Returns the channel. Throws a `TestingError` if the fake doesn't have it. */
export function existingChannel(state: SlackState, id: string): Channel {
  return shownPlace('slack', 'channel', id, state.channel(id))
}

/** Returns the message. Throws a `TestingError` if the channel has none with this `ts`. */
function shownPostIn({ id, posts }: Channel, ts: string): Post {
  return shownPost('slack', `Channel ${id}`, posts, ts)
}

/** Returns the actions of people. Without a `from`, the person U1 acts. */
export function createPeople(state: SlackState): SlackPeople {
  return {
    say,
    press: (channelId, ts, label, { from = defaultPerson } = {}) => {
      const buttons = controlsIn(channelId, ts).filter(({ type }) => type === 'button')
      return useControl(channelId, ts, shownButton('slack', ts, label, buttons), from)
    },
    choose: (channelId, ts, option, { from = defaultPerson } = {}) => {
      const all = controlsIn(channelId, ts).flatMap((control) => control.options.map((each) => ({ ...each, control })))
      const { control, value } = shownButton('slack', ts, option, all, 'option')
      return useControl(channelId, ts, { ...control, value }, from)
    },
    command: async (channelId, name, text = '', { from = defaultPerson } = {}) => {
      const trigger = createTrigger(from)
      const body = commandBody(state, {
        channel: existingChannel(state, channelId),
        from,
        name,
        text: escapeText(text),
        trigger,
      })
      return await state.delivery.send('slash_commands', body)
    },
    view: (user = defaultPerson.id) => state.views.get(user),
    submit,
    stop,
    remove: (channelId, ts) => {
      const channel = existingChannel(state, channelId)
      channel.posts.delete(shownPostIn(channel, ts).ts)
      state.changed(channel)
    },
  }

  /**
   * Adds a person's message, and sends its event, and a second one if the bot is mentioned in a channel. Returns its
   * `ts`. Throws a `TestingError` for an unknown channel or thread.
   */
  function say(channelId: string, written: string, options: SlackSay = {}): string {
    const { from = defaultPerson, mention = false, threadTs, forwards, file, files = file ? [file] : [] } = options
    const channel = existingChannel(state, channelId)
    const root = threadTs === undefined ? undefined : (shownPostIn(channel, threadTs).threadTs ?? threadTs)
    const text = mention ? `<@${state.bot}> ${escapeText(written)}` : escapeText(written)
    const shown = { text: written, mode: 'plain', rows: [] } as const
    const post = addPost(state, channel, { from, threadTs: root, fallback: text, shown, blocks: [] })
    const message = {
      ...messageFields(post, channel, text),
      ...(forwards !== undefined && { attachments: [forwardedAttachment(forwards)] }),
      // https://docs.slack.dev/messaging/retrieving-messages: the author of the thread's first message.
      ...(root !== undefined && { parent_user_id: authorId(shownPostIn(channel, root)) }),
      ...(files.length > 0 && { subtype: 'file_share', files: files.map((one) => shareFile(state, one)) }),
    }
    deliverEvent({ ...message, type: 'message', channel_type: channel.isDirect ? 'im' : 'channel' })
    // If the bot is mentioned, Slack sends both events, each with its own id.
    if (mention && !channel.isDirect) deliverEvent({ ...message, type: 'app_mention' })
    return post.ts
  }

  /** Sends an event. Resolves with whether the app acknowledged it, after all retries. */
  function deliverEvent(event: Fields): Promise<boolean> {
    return state.delivery.send('events_api', eventBody(state, event))
  }

  /**
   * Presses a button, or picks from a select the option whose value is the control's. Resolves with whether the app
   * acknowledged it in time.
   */
  async function useControl(channelId: string, ts: string, control: SlackControl, from: SlackPerson): Promise<boolean> {
    const channel = existingChannel(state, channelId)
    const trigger = createTrigger(from)
    return await state.delivery.send(
      'interactive',
      actionBody(state, { channel, post: shownPostIn(channel, ts), from, control, trigger }),
    )
  }

  /** Returns a new trigger, with which the app may open a dialog for this person, within 3 s. */
  function createTrigger({ id }: SlackPerson): string {
    const trigger = `${state.nextId('')}.trigger`
    state.triggers.set(trigger, { user: id, until: state.clock.now() + limits.triggerMs })
    return trigger
  }

  /**
   * Submits the person's open dialog, which closes it. Resolves with whether the app acknowledged it in time. Rejects
   * with a `TestingError` if none is open. The dialog stays open if an answer is missing or not allowed, which
   * rejects too.
   */
  async function submit(
    answers: readonly (string | readonly string[])[],
    { from = defaultPerson }: SlackFrom = {},
  ): Promise<boolean> {
    const view = state.views.get(from.id)
    if (!view) throw new TestingError('slack', `${from.id} has no dialog open.`)
    try {
      const values = submittedState(view, answers)
      state.views.delete(from.id)
      return await state.delivery.send(
        'interactive',
        submissionBody(state, { view, from, values, trigger: createTrigger(from) }),
      )
    } catch (error) {
      if (error instanceof Refusal)
        throw new TestingError('slack', `The dialog can't be submitted: ${error.details.join()}.`)
      throw error
    }
  }

  /**
   * Ends the thread's live streams, and sends the event. Resolves with whether the app finally acknowledged it.
   * Rejects with a `TestingError` if no agent is working there.
   */
  async function stop(channelId: string, threadTs: string, { from = defaultPerson }: SlackFrom = {}): Promise<boolean> {
    const channel = existingChannel(state, channelId)
    if (channel.sessions.get(threadTs) !== 'processing')
      throw new TestingError('slack', `Nothing is running in ${channelId}, ${threadTs}: there is no Stop button.`)
    const now = state.clock.now()
    const streaming = [...channel.posts.values()].filter((post) => post.threadTs === threadTs && post.stream)
    const live = streaming.filter(({ stream }) => stream && isLive(stream, now))
    for (const post of live) {
      if (post.stream) replacePost(state, channel, { ...post, stream: { ...post.stream, end: 'stopped-by-user' } })
    }
    return await deliverEvent({
      type: 'agent_session_stopped',
      channel: channelId,
      thread_ts: threadTs,
      user: from.id,
      streaming_message_ts: live.map(({ ts }) => ts),
      event_ts: state.nextTs(),
    })
  }

  /** Returns the buttons and selects below a message. Throws a `TestingError` if there is no such message. */
  function controlsIn(channelId: string, ts: string): readonly SlackControl[] {
    return shownPostIn(existingChannel(state, channelId), ts).shown.rows.flat()
  }

  /** The id of a message's author, also of the bot. */
  function authorId({ from }: Post): string {
    return from === 'bot' ? state.bot : from.id
  }
}

/** The fields of a message event, without its type. */
function messageFields(post: Post, channel: Channel, text: string): Fields {
  return {
    channel: channel.id,
    user: post.from === 'bot' ? undefined : post.from.id,
    ...(post.from !== 'bot' && post.from.name !== undefined && { user_profile: { display_name: post.from.name } }),
    text,
    ts: post.ts,
    event_ts: post.ts,
    ...(post.threadTs !== undefined && { thread_ts: post.threadTs }),
  }
}

/** A message that another one forwards. https://github.com/slackapi/slack-skills-plugin/issues/149 */
function forwardedAttachment(text: string): Fields {
  return { is_share: true, text, from_url: 'https://example.slack.com/archives/C9/p1700000000000100' }
}

/** Escapes "&", "<" and ">". https://docs.slack.dev/messaging/formatting-message-text#escaping */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
