import { type Client, observerOf, type Reply, type ReplyObserver } from '@reply/core'

/** The replies of a folder, as they begin and settle. */
export interface CollectedReplies {
  /** Resolves once a version of a reply has fitted. */
  seen(fits: (reply: Reply) => boolean): Promise<void>
  /** Resolves when so many replies have begun. */
  begun(count: number): Promise<void>
  /** Resolves with the settled replies, in order, when they are enough. Stops watching. */
  settled(isEnough: (replies: readonly Reply[]) => boolean): Promise<readonly Reply[]>
}

/** Watches a folder. `observer` also receives the changes of its replies. */
export function collectReplies(client: Client, directory: string, observer: ReplyObserver = {}): CollectedReplies {
  const settled: Reply[] = []
  const versions: Reply[] = []
  let begun = 0
  let look = (): void => {}
  const collect = observerOf((observation) => {
    versions.push(observation.reply)
    if (observation.type === 'replyStarted') begun++
    if (observation.type === 'replySettled') settled.push(observation.reply)
    look()
  })
  const stop = client.watch({ directory }, { observe: () => [collect, observer] })
  const when = async (isEnough: () => boolean): Promise<void> =>
    await new Promise((resolve) => {
      look = () => isEnough() && resolve()
      look()
    })
  return {
    seen: async (fits) => await when(() => versions.some(fits)),
    begun: async (count) => await when(() => begun >= count),
    settled: async (isEnough) => {
      await when(() => settled.length > 0 && isEnough(settled))
      stop()
      return settled
    },
  }
}
