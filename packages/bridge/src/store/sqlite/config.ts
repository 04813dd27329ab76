import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type SqliteState, sqliteStateSchema } from '../../config/schema.ts'
import { BridgeError, messageOf } from '../../error.ts'
import type { BridgeStore } from '../bridge-store.ts'
import { existingSqliteStore, hasState, sqliteStore } from './sqlite-store.ts'

/** A SQLite file as the state of a bridge. Its folder is absolute. */
export const sqliteState: BridgeStore<SqliteState> = {
  schema: sqliteStateSchema,
  open: async ({ folder }, { clock }) => await sqliteStore({ folder, clock }),
  openExisting: async ({ folder }, { clock }) => await existingSqliteStore({ folder, clock }),
  check: async ({ folder }) => [await checkFolder(folder)],
}

/**
 * Resolves with a sentence about the folder of the state: whether it has a state, or will be created. Rejects if the folder, or
 * else the nearest one above that exists, can't be written to or is not a folder, and like `hasState`.
 */
async function checkFolder(folder: string): Promise<string> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await stat(at).catch(() => undefined)
    if (!found && at !== dirname(at)) continue
    if (found && !found.isDirectory())
      throw new BridgeError('state', `${at} is not a folder. Choose another \`state\`.`)
    await access(at, constants.W_OK | constants.X_OK).catch((cause: unknown) => {
      throw new BridgeError('state', `${at} can't be written to: ${messageOf(cause)}.`, { cause })
    })
    if (at !== folder) return `${folder} will be created`
    return `${folder} can be written to, ${(await hasState(folder)) ? 'with the state of a bridge' : 'no state yet'}`
  }
}
