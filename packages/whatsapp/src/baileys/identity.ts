import { createRecent } from '@reply/sink/internal'
import type { BaileysSocket } from './api.ts'

/**
 * WhatsApp names one person by number (`…@s.whatsapp.net`) in one message and by LID (`…@lid`) in another, and often
 * both (`participantAlt`, `remoteJidAlt` of Baileys' keys). A chat or an actor has one id: the number if it is known,
 * else the LID.
 */
export interface Identities {
  /** Never rejects. `alt` is the same person's other id, if the message has it. */
  personOf(jid: string, alt: string | undefined): Promise<string>
}

/** How many LIDs to keep; the login itself knows more. */
const most = 1000

export function createIdentities(socket: () => BaileysSocket | undefined): Identities {
  const numbers = createRecent<string>(most)
  return {
    personOf: async (jid, alt) => {
      const [id, other] = [withoutDevice(jid), alt === undefined ? undefined : withoutDevice(alt)]
      if (!isLid(id)) {
        if (other !== undefined && isLid(other) && isNumber(id)) numbers.set(other, id)
        return id
      }
      if (other !== undefined && isNumber(other)) numbers.set(id, other)
      const known = numbers.get(id) ?? (await lookUp(id))
      if (known !== undefined) numbers.set(id, known)
      return known ?? id
    },
  }

  /** Asks the login, which may fail on a closed socket. */
  async function lookUp(lid: string): Promise<string | undefined> {
    try {
      const found = await socket()?.signalRepository?.lidMapping.getPNForLID(lid)
      const number = found ? withoutDevice(found) : undefined
      return number !== undefined && isNumber(number) ? number : undefined
    } catch {
      // The LID identifies the person too.
      return undefined
    }
  }
}

/** True for a person's id: those of groups, channels and stories end differently. */
export function isPerson(jid: string): boolean {
  return isNumber(jid) || isLid(jid)
}

/** Like Baileys' `cleanMessage`: a person has several devices, and older ids end in `@c.us`. */
export function withoutDevice(jid: string): string {
  return jid
    .replace(/^([^@:_]+)[^@]*@/, '$1@')
    .replace(/@(?:c\.us|hosted)$/, '@s.whatsapp.net')
    .replace(/@hosted\.lid$/, '@lid')
}

function isNumber(jid: string): boolean {
  return jid.endsWith('@s.whatsapp.net')
}

function isLid(jid: string): boolean {
  return jid.endsWith('@lid')
}
