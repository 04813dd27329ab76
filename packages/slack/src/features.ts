import type { Form } from '@reply/sink'
import type { SlackApi } from './api.ts'

/** What is known of the workspace behind a client: it never changes back. */
export interface Features {
  /** It has streams, as far as is known. */
  streams: boolean
  /** The status in a thread's head. */
  statuses: boolean
  /** Sessions of agents. */
  sessions: boolean
  /** Forms too long to be kept in their message, by token, the newest last. */
  readonly forms: Map<string, Form>
}

const features = new WeakMap<SlackApi, Features>()

export function featuresOf(api: SlackApi): Features {
  const known = features.get(api) ?? { streams: true, statuses: true, sessions: true, forms: new Map() }
  features.set(api, known)
  return known
}

/** Words that say that there is no such thing here, rather than that this one call was wrong. */
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
