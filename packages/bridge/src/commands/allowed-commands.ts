import { escapeDeceptive } from '@reply/core'
import { oneLine } from '@reply/sink/internal'
import type { Allowed, AllowedList } from '../asks/allowed.ts'
import type { Grant } from '../asks/decode.ts'
import { plain } from '../markdown.ts'
import { inRows } from './buttons.ts'
import { type Command, type CommandContext, CommandRefusal, type Said, type Target } from './command.ts'

/** The newest that are listed. */
const mostListed = 10
/** How much of the patterns is listed, in UTF-16 units. */
const patternLength = 200

/** What was allowed for always on the server of the chat. */
export interface AllowedCommands {
  readonly list: readonly Command[]
  /** Revokes what a button names, by its id. */
  revoke(target: Target, id: string): Promise<Said>
}

export function allowedCommands({ words, isAgent }: CommandContext, allowed: Allowed): AllowedCommands {
  const list: readonly Command[] = [
    {
      name: 'allowed',
      usage: '[revoke <number>]',
      description: 'what was allowed for always',
      isOnce: true,
      isApproving: true,
      run: async ({ rest, target }) => {
        const { route } = await target()
        const [, number] = /^revoke\s+(\d+)$/i.exec(rest) ?? []
        const listed = await allowed.of(route.server)
        if (rest === '') return listOf(route.server, listed)
        if (number === undefined) return { text: plain(words.allowedHelp) }
        const grant = shownOf(listed)[Number(number) - 1]
        if (!grant) throw new CommandRefusal(words.notAllowed(plain(number)))
        return await revokeOne(grant, listed)
      },
    },
  ]
  return { list, revoke }

  async function revoke({ route }: Target, id: string): Promise<Said> {
    const listed = await allowed.of(route.server)
    const grant = listed.grants.find((one) => one.id === id)
    if (!grant) throw new CommandRefusal(words.notAllowed(plain(id)))
    return await revokeOne(grant, listed)
  }

  async function revokeOne(grant: Grant, { canRevoke }: AllowedList): Promise<Said> {
    if (!canRevoke) throw new CommandRefusal(keptBy(grant.server))
    await allowed.revoke(grant)
    return { text: words.revoked(patternsOf(grant)) }
  }

  function listOf(server: string, listed: AllowedList): Said {
    const shown = shownOf(listed)
    if (shown.length === 0) return { text: words.nothingAllowed }
    const lines = shown.map((grant, index) => {
      const at = `${new Date(grant.at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
      const doubt = grant.isConfirmed || listed.canRevoke ? '' : ` · ${words.allowedUnsure}`
      return `${index + 1}. ${patternsOf(grant)} · ${plain(grant.permission)} · ${plain(grant.by.name)} · ${at}${doubt}`
    })
    const how = listed.canRevoke ? plain(words.allowedHelp) : keptBy(server)
    const buttons = shown.map(({ id }, index) => ({ label: words.revoke(index + 1), data: `b/revoke/${id}` }))
    return {
      text: [words.allowed(plain(server)), '', ...lines, '', how].join('\n'),
      ...(listed.canRevoke && { buttons: inRows(buttons) }),
    }
  }

  function keptBy(server: string): string {
    return isAgent(server) ? words.allowedByAgent : words.allowedUntilRestart
  }

  function patternsOf({ patterns }: Grant): string {
    return plain(oneLine(escapeDeceptive(patterns.join(', ')), patternLength))
  }
}

function shownOf({ grants }: AllowedList): readonly Grant[] {
  return grants.slice(-mostListed)
}
