import type { Clock } from '@reply/core'
import * as z from 'zod'
import type { CheckedChannel } from './bridge-channel.ts'
import type { SecretSource } from './bridge-config.ts'

/**
 * A channel that only notifies, for example a phone. It shows no replies, and takes no answers. A package exports one as
 * `noticeChannel`.
 */
export interface NoticeChannel<Config extends NoticeFields = NoticeFields> {
  /** Tells it from a channel with chats. */
  readonly isNoticeChannel: true
  /** The `type` of the channel's entry in a config, for example `ntfy`. */
  readonly type: string
  /** Parses the channel's entry in a config: a strict object with `type` and `noticeFields`. Each field has a description. */
  readonly schema: z.ZodType<Config>
  /**
   * Checks the settings with one call, without a notice. Resolves with a name for the receiver without its secrets. Rejects
   * with an error that says what failed and how to fix it.
   */
  check(config: Config, host: Pick<NoticeHost, 'secret'>): Promise<CheckedChannel>
  /** Creates the connection without a call. Rejects for invalid settings. */
  create(config: Config, host: NoticeHost): Promise<NoticeConnection>
}

/** The program that sends notices, for example the bridge. */
export interface NoticeHost {
  /** Reads a secret. If it is missing or blank, throws an error that says how to fix it. */
  secret(source: SecretSource): string
  /** The source of all times and timers. */
  readonly clock: Clock
}

/** Sends notices to one receiver. */
export interface NoticeConnection {
  /**
   * Sends a notice with one call. Does not repeat it. Rejects with a `PortError`: `rate-limited` and `unreachable` if it was
   * surely not sent, `ambiguous` if that is unknown. Other types mean that a repeat would not help.
   */
  send(notice: Notice, signal?: AbortSignal): Promise<void>
}

/** What happened: a run ended, a run failed, or a question or permission request waits. */
export type NoticeKind = (typeof noticeKinds)[number]

/** The values of `NoticeKind`. */
export const noticeKinds = ['final', 'failure', 'ask'] as const

/** One notification. Its texts are plain, and may contain any characters. */
export interface Notice {
  /** The same if the notice is sent again, and then the receiver may replace the first one. 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly id: string
  /** What it is about. */
  readonly kind: NoticeKind
  /** One line. */
  readonly title: string
  /** Never empty. */
  readonly text: string
  /** Opens the chat. Absent if the platform has no link to it. A notice has no other action. */
  readonly link?: string | undefined
}

/** Fields that the entry of each channel for notices has in addition to its own. */
export const noticeFields = {
  on: z
    .array(z.enum(noticeKinds))
    .optional()
    .describe(
      'Which notices are sent: `final` for the end of a run, `failure` for a run that failed, `ask` for a question or permission request. Default: all.',
    ),
  awayMs: z
    .number()
    .int()
    .min(0)
    .max(86_400_000)
    .optional()
    .describe(
      'How long a person must not have written or pressed anything in a chat of the bridge to count as away, in ms. Only then they get a notice. Default: 60000.',
    ),
  content: z
    .enum(['none', 'summary'])
    .optional()
    .describe(
      'What a notice tells besides the outcome, the time, the number of changed files and the cost. `none`: nothing that a person or an agent wrote. `summary`: also the beginning of the answer, of the error, or of the request. Default: none.',
    ),
}

/** Settings of a channel for notices, from its entry in a config. */
export interface NoticeFields {
  /** Which notices are sent. Default: all. */
  readonly on?: readonly NoticeKind[] | undefined
  /** How long a person must not have acted in a chat to count as away, in ms. Default: 60,000. */
  readonly awayMs?: number | undefined
  /** Whether a notice quotes what people and agents wrote. Default: `none`. */
  readonly content?: 'none' | 'summary' | undefined
}
