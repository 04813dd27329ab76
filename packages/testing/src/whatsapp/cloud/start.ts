import { realClock, type TestClock } from '../../clock.ts'
import { createCallLog } from '../../platform/calls.ts'
import { createObservers, type FakeHttpPlatform } from '../../platform/fake.ts'
import { createFakeServer } from '../../platform/server.ts'
import { readWhatsApp, type WhatsAppEntity } from '../formatted.ts'
import type { CloudKind, WhatsAppButton } from './content.ts'
import { type CloudFault, matchesCloud } from './fault.ts'
import { createHook, type WhatsAppWebhookCall } from './hook.ts'
import { createPeople, type WhatsAppPeople } from './person.ts'
import { createCloudApi, type WhatsAppCall } from './server.ts'
import { type CloudPost, createState } from './state.ts'

/** The business's number, and the faults. */
export interface WhatsAppOptions {
  /** The access token that calls must send. */
  readonly token: string
  /** Default "a-fake-app-secret". */
  readonly appSecret?: string
  /** Default "106540352242922". */
  readonly phoneNumberId?: string
  /** The clock for budgets, windows and webhooks. Default: the system's. */
  readonly clock?: TestClock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly CloudFault[]
  /** UTF-16 units above a list. Default 1,024, which every server takes. Newer ones take 4,096. */
  readonly listBody?: number
  /**
   * Whether a message more than 24 h after the person's last one is accepted and reported as failed to the webhook, or
   * refused at once. Default "report".
   */
  readonly closedWindow?: 'report' | 'refuse'
  /** Whether responses have a `Date` header, by the clock. Default true. */
  readonly dates?: boolean
}

/** A message as a person sees it. */
export interface WhatsAppMessage {
  /** The `wamid`. */
  readonly id: string
  /** `business` for the number under test, else `person`. */
  readonly from: 'business' | 'person'
  /** The kind of message that the app shows. */
  readonly kind: CloudKind
  /** The text as displayed, with its marks applied. */
  readonly text: string
  /** The formats of ranges of `text`. Empty if there are none. */
  readonly entities: readonly WhatsAppEntity[]
  /** As sent. */
  readonly source: string
  /** Reply buttons, or the rows of a list. They stay after a press. */
  readonly buttons: readonly WhatsAppButton[]
  /** The attached file, or the uploaded picture, if any. */
  readonly document: { readonly name: string; readonly bytes: Uint8Array } | undefined
  /** The `wamid` of the message that it replies to. */
  readonly replyTo: string | undefined
  /** The business's emoji below it, if any. */
  readonly reaction: string | undefined
}

/**
 * A Cloud API server, and the people that the business talks to. Chats are open at the start, as if everyone had just
 * written.
 */
export interface FakeWhatsApp
  extends WhatsAppPeople,
    FakeHttpPlatform<string, WhatsAppCall, CloudFault, WhatsAppMessage, WhatsAppCall['kind']> {
  /** The `apiUrl` for a client, with its version. */
  readonly url: string
  /** The access token, as given. */
  readonly token: string
  /** The secret that webhook requests are signed with. */
  readonly appSecret: string
  /** The id of the business's number. */
  readonly phoneNumberId: string
  /** Whether the typing indicator shows there now. */
  typing(person: string): boolean
  /** The requests to the webhook. */
  readonly webhookCalls: readonly WhatsAppWebhookCall[]
  /** Sets the webhook, as in the app's settings: requests the challenge first. Rejects if it isn't returned. */
  setWebhook(url: string, verifyToken: string): Promise<void>
  /** `sha256=…`, as Meta signs these bytes. */
  sign(body: string | Uint8Array): string
}

/** Starts a fake Cloud API on loopback. You can start several. */
export async function startWhatsApp(options: WhatsAppOptions): Promise<FakeWhatsApp> {
  const { token, appSecret = 'a-fake-app-secret', phoneNumberId = '106540352242922', clock = realClock } = options
  const { faults = [], dates = true } = options
  const log = createCallLog<WhatsAppCall, CloudFault>(clock, faults, matchesCloud)
  const hook = createHook(clock, appSecret, phoneNumberId)
  const { observe, changed } = createObservers<string>()
  const state = createState(options, clock, hook, changed)
  const server = createFakeServer('whatsapp', createCloudApi(state, { token, phoneNumberId }, log, dates))
  await server.listen()
  return {
    ...createPeople(state),
    token,
    appSecret,
    phoneNumberId,
    calls: log.calls,
    webhookCalls: hook.calls,
    setWebhook: hook.setUrl,
    sign: hook.sign,
    url: `${server.origin}/v23.0`,
    count: (kind) => log.calls.filter((call) => call.kind === kind).length,
    screen: (person) => [...state.chat(person).posts.values()].map(messageShown),
    notifications: (person) => state.chat(person).notifications,
    typing: (person) => state.chat(person).typingUntil > clock.now(),
    inject: log.inject,
    observe,
    close: () => {
      hook.close()
      log.close()
      return server.close()
    },
  }
}

/** A message as a person sees it. An empty reaction counts as none. */
function messageShown({ id, from, content, replyTo, file, reaction }: CloudPost): WhatsAppMessage {
  const { kind, source, buttons, fileName } = content
  const document = file && { name: fileName ?? file.name, bytes: file.bytes }
  return {
    id,
    from,
    kind,
    ...readWhatsApp(source),
    source,
    buttons,
    document,
    replyTo,
    reaction: reaction || undefined,
  }
}
