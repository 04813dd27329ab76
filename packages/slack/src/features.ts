import type { Form } from '@reply/sink/channel'
import { createRecent, type Recent } from '@reply/sink/internal'
import type { SlackApi } from './api.ts'

/** What the workspace behind a client supports. A flag that turned false stays false. */
export interface Features {
  /** Streams: true until Slack refuses one. */
  streams: boolean
  /** Status texts of threads. */
  readonly statuses: Feature
  /** Agent sessions. */
  readonly sessions: Feature
  /** The `ts` of the streams that this process knows: each belongs to a reply. */
  readonly streamed: Recent<true>
  /** The app's own user, once known. */
  me?: string
  /** Forms by token, the newest last: some are too long for their message to carry. */
  readonly forms: Recent<Form>
}

/** An optional feature: a failed call is not an error. */
interface Feature {
  has: boolean
  /** Rate-limited until then, in ms since the epoch. */
  restUntil: number
}

/** How many forms and streams to keep; the oldest are dropped. */
const mostForms = 500
const mostStreams = 1000

const features = new WeakMap<SlackApi, Features>()

export function featuresOf(api: SlackApi): Features {
  const known = features.get(api) ?? {
    ...{ streams: true, statuses: fresh(), sessions: fresh() },
    ...{ streamed: createRecent<true>(mostStreams), forms: createRecent<Form>(mostForms) },
  }
  features.set(api, known)
  return known
}

function fresh(): Feature {
  return { has: true, restUntil: 0 }
}

/** Error codes for a feature that the workspace or token lacks, as opposed to one bad call. */
const lacking: ReadonlySet<string> = new Set([
  'unknown_method',
  'feature_not_enabled',
  'method_deprecated',
  'not_allowed_token_type',
  'not_authorized',
  'no_permission',
  'missing_scope',
  'access_denied',
  'team_access_not_granted',
  'enterprise_is_restricted',
])

export function isLacking(word: string | undefined): boolean {
  return word !== undefined && lacking.has(word)
}

/** Error codes for a person or channel without streams, such as a channel shared by two workspaces. */
const misplaced: ReadonlySet<string> = new Set([
  'channel_type_not_supported',
  'method_not_supported_for_channel_type',
  'missing_recipient_user_id',
  'missing_recipient_team_id',
  'user_not_found',
  'team_not_found',
])

export function isMisplaced(word: string | undefined): boolean {
  return word !== undefined && misplaced.has(word)
}
