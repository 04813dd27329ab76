import type { Reply } from '@reply/core'
import type { PageReply } from '../../src/state/page-run.ts'

/** A page's reply for the selectors of the core. They read no `raw`, which is all that it lacks. */
export function asReply(reply: PageReply): Reply {
  return reply as Reply
}
