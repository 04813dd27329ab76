import type { Form } from '@reply/sink'
import type { SlackApi } from './api.ts'

/** What is known of the workspace behind a client: what it lacks it lacks for good. */
export interface Features {
  /** It has streams, as far as is known. */
  streams: boolean
  /** The status in a thread's head. */
  readonly statuses: Feature
  /** Sessions of agents. */
  readonly sessions: Feature
  /** When streams were opened and closed lately, in ms since the epoch. */
  readonly opened: number[]
  readonly closed: number[]
  /** Forms too long to be kept in their message, by token, the newest last. */
  readonly forms: Map<string, Form>
}

/** Something that nobody waits for. */
interface Feature {
  has: boolean
  /** Slack wants to hear nothing of it before, in ms since the epoch. */
  restUntil: number
}

const features = new WeakMap<SlackApi, Features>()

export function featuresOf(api: SlackApi): Features {
  const known = features.get(api) ?? {
    ...{ streams: true, statuses: fresh(), sessions: fresh() },
    ...{ opened: [], closed: [], forms: new Map() },
  }
  features.set(api, known)
  return known
}

function fresh(): Feature {
  return { has: true, restUntil: 0 }
}

/** So many forms are known, the newest. */
const mostForms = 500

/** What is too long for its button is known by the process alone. */
export function remember({ forms }: Features, form: Form): void {
  forms.delete(form.token)
  forms.set(form.token, form)
  for (const oldest of [...forms.keys()].slice(0, -mostForms)) forms.delete(oldest)
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

/** Words that say that there are no streams for that person in that channel, as where two workspaces share it. */
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
