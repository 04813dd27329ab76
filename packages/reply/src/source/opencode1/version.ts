import type { Capabilities } from '../port.ts'
import { toReadVersion } from './decode/rest-responses.ts'

/**
 * Returns the capabilities of a server, by its response to `GET /global/health`. An unknown version counts as an old
 * one.
 */
export function capabilitiesOf(health: unknown, nextMessageID: () => string): Capabilities {
  const version = toReadVersion(health)
  const isOld = version === undefined || isBeforeOneTwo(version)
  return {
    // Servers before 1.2 send a heartbeat every 30 s, later ones every 10 s.
    silenceMs: isOld ? 75_000 : 25_000,
    canRead: true,
    nextMessageID: takesMessageIDs(version) ? nextMessageID : undefined,
    // Measured on 1.1.65, 1.2.27, 1.14.41, 1.17.19 and 1.18.33, for a session's newest message.
    repeatsPrompts: true,
    namesNewestPrompt: true,
    takesPromptsWhileBusy: true,
    queuesPrompts: false,
    showsNotes: true,
    // The route is experimental and may fail. Servers before 1.2 forward unknown routes to a website.
    listsEverywhere: version === undefined || !isBeforeOneTwo(version),
  }
}

/**
 * Whether a prompt may carry an id that its sender made. False for an unknown version. Servers before 1.18.15 compare
 * ids to find the newest message: an id that is not the newest of its session is never answered, and one ahead of the
 * server's clock is answered forever (measured on 1.18.3, 1.18.10, 1.18.13 and 1.18.14, fixed on 1.18.15, 1.18.17,
 * 1.18.25 and 1.18.33).
 */
export function takesMessageIDs(version: string | undefined): boolean {
  const [major = 0, minor = 0, patch = 0] = versionNumbers(version)
  return major > 1 || (major === 1 && (minor > 18 || (minor === 18 && patch >= 15)))
}

/**
 * Whether a session's rules can take a tool away, as on 1.14.41 and newer. 1.1.65 and 1.2.27 only apply the agent's
 * rules, and add none to an existing session. False for an unknown version.
 */
export function obeysSessionRules(version: string | undefined): boolean {
  const [major = 0, minor = 0] = versionNumbers(version)
  return major > 1 || (major === 1 && minor >= 14)
}

/**
 * Whether `GET /file` fails for a missing directory, as on 1.17.19 and newer. 1.14.41 and older return an empty list.
 * False for an unknown version.
 */
export function refusesMissingDirectory(version: string | undefined): boolean {
  const [major = 0, minor = 0] = versionNumbers(version)
  return major > 1 || (major === 1 && minor >= 17)
}

/**
 * Whether the version is before 1.2. Such servers keep the sessions of each project apart, do not page messages and
 * send fewer heartbeats.
 */
export function isBeforeOneTwo(version: string): boolean {
  return /^(0|1\.[01])\./.test(version)
}

/** Returns major, minor and patch. Empty if the version has another form. */
function versionNumbers(version: string | undefined): readonly number[] {
  const found = /^(\d+)\.(\d+)\.(\d+)/.exec(version ?? '')
  return found ? found.slice(1).map(Number) : []
}
