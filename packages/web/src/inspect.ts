export {
  type ChannelBudget,
  type ChannelCall,
  type ChannelLog,
  type ChannelText,
  type ChatMessage,
  type ChatPicture,
  chatAt,
} from './inspect/channel.ts'
export type { FrameKind, HeldFrame, InspectedFrame, InspectedStep, NoEvents } from './inspect/frame.ts'
export type { InspectedReply } from './inspect/player.ts'
export { createRecording, type OpenedRecording, openRecording, type ReplyName } from './inspect/recording.ts'
