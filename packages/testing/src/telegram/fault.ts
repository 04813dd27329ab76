import { type Befalling, createPlan, type FaultPlan } from '../fault.ts'

/** A failure of a call. */
export type TelegramFault = ToCalls &
  /** 429; the chat of the call is frozen for as long, as after a real one. */
  (
    | { readonly type: 'rate-limited'; readonly retryAfterS: number }
    /**
     * An error response, by default with the usual description for the code. Nothing was done, unless it `isTaken`: a
     * gateway that gives up on a server which continues.
     */
    | { readonly type: 'status'; readonly code: number; readonly description?: string; readonly isTaken?: boolean }
    /** 502 and a web page instead of JSON: nothing was done. */
    | { readonly type: 'html' }
    /** The connection breaks before the call is taken. */
    | { readonly type: 'refuse' }
    /** The call is taken and the connection breaks before the answer, so the client can't know. */
    | { readonly type: 'accept-then-drop' }
    /** Not taken, and never answered: the client has to give up. */
    | { readonly type: 'stall' }
    /** Taken, and never answered. */
    | { readonly type: 'accept-then-stall' }
    /** Taken and answered after `delayMs`, by the clock. */
    | { readonly type: 'delay'; readonly delayMs: number }
  )

/** The calls that a fault applies to. */
interface ToCalls extends Befalling {
  /** Default: any but `getUpdates`. */
  readonly method?: string | RegExp
  /** Default: any, including calls without one. */
  readonly chatId?: number
}

export type TelegramFaultPlan = FaultPlan<TelegramFault, [method: string, chatId: number | undefined]>

export function createFaultPlan(faults: readonly TelegramFault[]): TelegramFaultPlan {
  return createPlan(faults, befalls)
}

function befalls(fault: TelegramFault, method: string, chatId: number | undefined): boolean {
  if (fault.chatId !== undefined && fault.chatId !== chatId) return false
  if (fault.method === undefined) return method !== 'getUpdates'
  return typeof fault.method === 'string' ? fault.method === method : fault.method.test(method)
}

const usual: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  413: 'Request Entity Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  504: 'Gateway Timeout',
}

export function describe(code: number): string {
  return usual[code] ?? `Error ${code}`
}
