import { createHash } from 'node:crypto'
import type { Client, Clock, PermissionAsk } from '@reply/core'
import type { SavedRule } from '@reply/core/source'
import { errorTypeOf } from '../error.ts'
import { type Grant, toGrant } from '../state/decode.ts'
import type { State } from '../state/state.ts'
import type { Write } from '../store/store.ts'
import type { NamedActor } from './answered-by.ts'

/** Permissions that people always allowed from a chat, until they are revoked. */
export interface SavedGrants {
  /**
   * Stores an unconfirmed grant before an ask is always allowed on a server, and resolves with it. Call `confirm` once the
   * server accepted it, or `remove` if the server surely did not accept it.
   */
  storePending(ask: PermissionAsk, server: string, by: NamedActor): Promise<Grant>
  /** Marks a grant as confirmed. Retries while the store fails. */
  confirm(grant: Grant): Promise<void>
  /** Removes a stored grant, without a call to the server. Retries while the store fails. */
  remove(grant: Grant): Promise<void>
  /**
   * Returns the grants of a server, oldest first, and whether the server can revoke them. Deletes stored grants that the
   * server no longer has, if it lists its own. Rejects if the config has no such server, or with the server's error.
   */
  list(server: string): Promise<GrantList>
  /** Revokes a grant on the server, and removes it. Rejects with the error of the server, for example `unsupported`. */
  revoke(grant: Grant): Promise<void>
}

/** The grants of a server. */
export interface GrantList {
  readonly grants: readonly Grant[]
  readonly canRevoke: boolean
}

/** How long a grant is listed if the server does not list its own, in ms: a year. */
const keptMs = 31_536_000_000

const idLength = 12

/** Stores grants in the state, and lists and revokes them together with the servers' own rules. */
export function createSavedGrants({
  state,
  servers,
  clock,
}: {
  readonly state: State
  readonly servers: ReadonlyMap<string, Client>
  readonly clock: Clock
}): SavedGrants {
  return { storePending, confirm, remove, list, revoke }

  /** Stores a grant that is not confirmed yet, and resolves with it. Its id is new for each request. */
  async function storePending(ask: PermissionAsk, server: string, by: NamedActor): Promise<Grant> {
    const at = clock.now()
    const id = createHash('sha256').update(`${at} ${server} ${ask.requestID}`).digest('hex').slice(0, idLength)
    const { permission, always: patterns } = ask
    const grant: Grant = { id, server, permission, patterns, by, at, isConfirmed: false }
    await writeGrant(grant)
    return grant
  }

  /** Replaces the stored grant by a confirmed one. Retries while the store fails. */
  async function confirm(grant: Grant): Promise<void> {
    // The server accepted it, so a failing store must not show the person an error.
    await state.withRetries(() => writeGrant({ ...grant, isConfirmed: true }))
  }

  /** Stores a grant until a year after it was given. Replaces the one with its key. */
  async function writeGrant(grant: Grant): Promise<void> {
    await state.commit([{ type: 'put', key: keyOf(grant), value: JSON.stringify(grant), expiresInMs: keptMs }])
  }

  /** Deletes stored grants, but not the server's rules. Retries while the store fails. */
  async function remove(...grants: readonly Grant[]): Promise<void> {
    const writes: readonly Write[] = grants.map((grant) => ({ type: 'remove', key: keyOf(grant) }))
    await state.withRetries(() => state.commit(writes))
  }

  /**
   * Returns the stored grants of a server, and whether it can revoke them: only if it lists its rules. Then deletes and leaves
   * out grants without a rule on the server.
   */
  async function list(server: string): Promise<GrantList> {
    const stored = (await state.list(keyPrefixOf(server))).map(({ value }) => toGrant(value))
    const rules = await rulesOf(server)
    if (!rules) return { grants: stored, canRevoke: false }
    // It was revoked elsewhere, or the server never accepted it.
    const gone = stored.filter((grant) => rulesOfGrant(rules, grant).length === 0)
    if (gone.length > 0) await remove(...gone)
    return { grants: stored.filter((grant) => !gone.includes(grant)), canRevoke: true }
  }

  /** Removes the server's rules that the grant covers, then the stored grant. Ignores a rule that is already gone. */
  async function revoke(grant: Grant): Promise<void> {
    const client = serverOf(grant.server)
    for (const { id } of rulesOfGrant(await client.savedRules(), grant)) {
      await client.removeRule(id).catch((error: unknown) => {
        // Another client removed it first.
        if (errorTypeOf(error) !== 'gone') throw error
      })
    }
    await remove(grant)
  }

  /** Returns the saved rules of a server. Undefined if it does not support that. Rejects with its other errors. */
  async function rulesOf(server: string): Promise<readonly SavedRule[] | undefined> {
    try {
      return await serverOf(server).savedRules()
    } catch (error) {
      if (errorTypeOf(error) === 'unsupported') return undefined
      throw error
    }
  }

  /** Returns the client of a server. Throws if the config no longer has the server. */
  function serverOf(name: string): Pick<Client, 'savedRules' | 'removeRule'> {
    const server = servers.get(name)
    if (server) return server
    throw new Error(`The config no longer has a server "${name}".`)
  }
}

/** Returns the rules for the grant's permission and one of its patterns. */
function rulesOfGrant(rules: readonly SavedRule[], { permission, patterns }: Grant): readonly SavedRule[] {
  return rules.filter((rule) => rule.permission === permission && patterns.includes(rule.pattern))
}

/** Returns the prefix of the keys of a server's grants. */
function keyPrefixOf(server: string): string {
  return `allowed/${encodeURIComponent(server)}/`
}

/** Returns the key of a grant. The keys of a server sort by time. */
function keyOf({ server, at, id }: Grant): string {
  return `${keyPrefixOf(server)}${String(at).padStart(16, '0')}/${id}`
}
