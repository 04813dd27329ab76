import { escapeDeceptive } from '@reply/core'
import { oneLine } from '@reply/sink/internal'
import type { GrantList, SavedGrants } from '../asks/saved-grants.ts'
import { inRows } from '../chats/channels.ts'
import { callWhileDue } from '../servers/lease-context.ts'
import type { Grant } from '../state/decode.ts'
import { plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandReply, type CommandServices } from './command.ts'
import type { RequireDue } from './late-press.ts'

/** How many grants are listed. */
const mostGrants = 10
/** How much of the patterns of a grant is listed, in UTF-16 units. */
const patternLength = 200

/** Lists what was always allowed on the server of the chat, or revokes an entry of the list. */
export interface AllowedCommand extends Command {
  /**
   * Revokes the grant of a button, and resolves with the reply. Rejects with a `CommandRefusal` if the grant is no longer
   * listed or the server can't revoke it, and with a `LatePressError` if the press is too late.
   */
  revokeByID(server: string, id: string, requireDue: RequireDue): Promise<CommandReply>
}

/**
 * Lists what was always allowed on the server of the chat, or revokes an entry by its number in that list. Without a number,
 * says how to revoke.
 */
export function allowedCommand({ config }: CommandServices, grants: SavedGrants): AllowedCommand {
  return {
    name: 'allowed',
    usage: '[revoke <number>]',
    description: 'what was allowed for always',
    isOnce: true,
    isApproving: true,
    run: async ({ rest, target }) => {
      const { route } = await target()
      const [, number] = /^revoke\s+(\d+)$/i.exec(rest) ?? []
      const listed = await grants.list(route.server)
      if (rest === '') return grantsReply(route.server, listed)
      if (number === undefined) return { text: plain(texts.allowedHelp) }
      const grant = newestGrants(listed)[Number(number) - 1]
      if (!grant) throw new CommandRefusal(texts.notAllowed(plain(number)))
      return await revokeGrant(grant, listed)
    },
    revokeByID: async (server, id, requireDue) => {
      const listed = await grants.list(server)
      const grant = listed.grants.find((one) => one.id === id)
      if (!grant) throw new CommandRefusal(texts.notAllowed(plain(id)))
      return await callWhileDue(requireDue, async () => await revokeGrant(grant, listed))
    },
  }

  /** Revokes a grant, and resolves with the reply. Rejects with a `CommandRefusal` if the server can't revoke. */
  async function revokeGrant(grant: Grant, { canRevoke }: GrantList): Promise<CommandReply> {
    if (!canRevoke) throw new CommandRefusal(whyNotRevocable(grant.server))
    await grants.revoke(grant)
    return { text: texts.revoked(patternsText(grant)) }
  }

  /**
   * Lists the newest grants, oldest first. If the server can revoke, each has a button, otherwise the text says why not. Says
   * that nothing was allowed for an empty list.
   */
  function grantsReply(server: string, listed: GrantList): CommandReply {
    const shown = newestGrants(listed)
    if (shown.length === 0) return { text: texts.nothingAllowed }
    const lines = shown.map((grant, index) => {
      const at = `${new Date(grant.at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
      const doubt = grant.isConfirmed || listed.canRevoke ? '' : ` · ${texts.allowedUnsure}`
      return `${index + 1}. ${patternsText(grant)} · ${plain(grant.permission)} · ${plain(grant.by.name)} · ${at}${doubt}`
    })
    const how = listed.canRevoke ? plain(texts.allowedHelp) : whyNotRevocable(server)
    const buttons = shown.map(({ id }, index) => ({ label: texts.revoke(index + 1), data: `b/revoke/${id}` }))
    return {
      text: [texts.allowed(plain(server)), '', ...lines, '', how].join('\n'),
      ...(listed.canRevoke && { buttons: inRows(buttons) }),
    }
  }

  /** Says that the agent stores the grants itself, or for a server by its address, that they last until it restarts. */
  function whyNotRevocable(server: string): string {
    return config.servers[server]?.agent !== undefined ? texts.allowedByAgent : texts.allowedUntilRestart
  }
}

/** Returns the patterns of a grant, shortened and escaped for a message. */
function patternsText({ patterns }: Grant): string {
  return plain(oneLine(escapeDeceptive(patterns.join(', ')), patternLength))
}

/** Returns the grants that `/allowed` lists and numbers: the newest, at most `mostGrants`, oldest first. */
function newestGrants({ grants }: GrantList): readonly Grant[] {
  return grants.slice(-mostGrants)
}
