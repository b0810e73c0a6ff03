// tests/emulated_gpu/libraries/cupti.cpp -- CUPTI, which is not emulated. SPDX-License-Identifier: Apache-2.0
#include <cupti.h>

#include <cstddef>
#include <cstdint>

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, CUpti_SubscriberParams*) {
  return CUPTI_ERROR_NOT_INITIALIZED;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) { return CUPTI_ERROR_NOT_INITIALIZED; }
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_ERROR_NOT_INITIALIZED; }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind) { return CUPTI_ERROR_NOT_INITIALIZED; }
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId, std::uint8_t) { return CUPTI_ERROR_NOT_INITIALIZED; }
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t) { return CUPTI_ERROR_NOT_INITIALIZED; }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc) {
  return CUPTI_ERROR_NOT_INITIALIZED;
}
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, std::size_t*, void*) {
  return CUPTI_ERROR_NOT_INITIALIZED;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) { return CUPTI_ERROR_NOT_INITIALIZED; }
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t*) {
  return CUPTI_ERROR_NOT_INITIALIZED;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, CUpti_Activity**) {
  return CUPTI_ERROR_NOT_INITIALIZED;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t) {
  return CUPTI_ERROR_NOT_INITIALIZED;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t*) {
  return CUPTI_ERROR_NOT_INITIALIZED;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI is not emulated";
  return CUPTI_SUCCESS;
}
