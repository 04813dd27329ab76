import type { Goal } from './goal.ts'
import { bridgeGoals } from './goals/bridge.ts'
import { byteGoals } from './goals/bytes.ts'
import { channelGoals } from './goals/channels.ts'
import { commandGoals } from './goals/command.ts'
import { deliveryGoals } from './goals/delivery.ts'
import { growthGoals } from './goals/growth.ts'
import { heapGoals } from './goals/heap.ts'
import { historyGoals } from './goals/history.ts'
import { hostileGoals } from './goals/hostile.ts'
import { liveGoals } from './goals/live.ts'
import { paceGoals } from './goals/pace.ts'
import { peerGoals } from './goals/peer.ts'
import { pieceGoals } from './goals/pieces.ts'
import { resyncGoals } from './goals/resync.ts'
import { sessionGoals } from './goals/sessions.ts'
import { sizeGoals } from './goals/size.ts'

/** All measurements, in the order of the table. */
export const goals: readonly Goal[] = [
  ...byteGoals,
  ...growthGoals,
  ...peerGoals,
  ...pieceGoals,
  ...sessionGoals,
  ...liveGoals,
  ...resyncGoals,
  ...historyGoals,
  ...heapGoals,
  ...deliveryGoals,
  ...channelGoals,
  ...paceGoals,
  ...bridgeGoals,
  ...commandGoals,
  ...hostileGoals,
  ...sizeGoals,
]
